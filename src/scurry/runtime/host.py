"""Hosts: one slot of one stage, serving all operators of that stage.

In every micro-batch a host is given all envelopes addressed to its slot. What is meant for a later
stage or for the driver it hands on; the rest it merges per operator, runs through the operator and
its chain, and sends on what comes out. Its state is then committed to the journal.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from scurry.common.fault_points import fault_point
from scurry.common.waiting import Wait, current_board
from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK
from scurry.runtime.blobs import decode_batch
from scurry.runtime.checkpointed import OperatorStates
from scurry.runtime.envelope import COMBINED, DATA, FEED, OPERATORS, TICK, WATERMARK, Envelope
from scurry.runtime.event_time import Mark, cells_of, delayed
from scurry.runtime.handover import COPYING, REUSING
from scurry.runtime.input_gate import Arrival, InputGate
from scurry.runtime.report import OperatorReport, Tick, decode_report, decode_tick, encode_report
from scurry.runtime.router import mark_of
from scurry.runtime.specs import JobSpec
from scurry.runtime.task import Task, report, to_driver
from scurry.runtime.task_context import TaskContext, TaskPlace, TaskState
from scurry.runtime.timers import PROCESSING, TimerQueue
from scurry.state.feeds import SlotFeed
from scurry.state.journal import Journal
from scurry.state.slot_parts import Outcome
from scurry.state.slot_store import SlotStore

#: Records handled between two chances to send something on.
CHUNK_ROWS = 100_000


class _Arrived:
    """The envelopes of a micro-batch, or of a round, sorted by what they are for."""

    def __init__(self, heads: Iterable[str]) -> None:
        self.records: dict[str, list[Arrival]] = {uid: [] for uid in heads}
        self.combined: dict[str, list[bytes]] = {uid: [] for uid in heads}
        self.ends: dict[str, dict[str, Mark]] = {uid: {} for uid in heads}
        self.tick = Tick()

    def take(self, envelope: Envelope) -> None:
        """Sort one more envelope in."""
        if envelope.kind == DATA:
            batch = decode_batch(envelope.payload)
            arrival = (envelope.channel, envelope.seq, envelope.port, batch)
            self.records[envelope.dest].append(arrival)
        elif envelope.kind == COMBINED:
            self.combined[envelope.dest].append(envelope.payload)
        elif envelope.kind == WATERMARK:
            self.ends[envelope.dest][envelope.channel] = mark_of(envelope)
        elif envelope.kind == TICK:
            self.tick = decode_tick(envelope.payload)


class SlotHost:
    """Runs slot ``slot`` of stage ``stage`` of a job, with the slot's state in ``store``."""

    def __init__(
        self, job: JobSpec, stage: int, slot: int, store: SlotStore, feeds: Path | None = None
    ) -> None:
        """What is to be told to the view of the job, if it has one, and is large, becomes files in
        the directory ``feeds``."""
        self.job = job
        self.stage = stage
        self.slot = slot
        self.store = store
        # an operator of a lower parallelism than others of its stage has no instance here
        self._heads = [
            uid for uid in job.stages[stage - 1] if slot < job.operators[uid].parallelism
        ]
        self._context = TaskContext(
            TaskPlace(slot, job.max_parallelism, stage, job.parameters, job.guarantee),
            TaskState(store, operators=OperatorStates(store)),
            handover=REUSING if job.object_reuse else COPYING,
        )
        self.task = Task(job, self._context)
        for uid in self._heads:
            self.task.add_head(uid)
        self._gates: dict[str, InputGate] = {}
        self._opened = False
        #: whether the functions have been closed
        self.closed = False
        self._rebuild_began = 0.0
        store.feed = SlotFeed(job.view, feeds) if job.view else None
        store.on_rebuild = self._rebuilding

    def run(self, envelopes: Iterable[Envelope], journal: Journal) -> Iterator[Envelope]:
        """Run one micro-batch. ``envelopes`` are all those for this slot, in any order; what is
        yielded goes to the next stage. When the generator has ended, the slot's state is in the
        journal, and counts once the micro-batch is committed."""
        yield from self._context.report.clock.within(self._run(envelopes, journal))

    def _run(self, envelopes: Iterable[Envelope], journal: Journal) -> Iterator[Envelope]:
        arrived = _Arrived(self._heads)
        for envelope in envelopes:
            if envelope.stage != self.stage:
                yield envelope
            else:
                arrived.take(envelope)
        tick = arrived.tick
        began = time.perf_counter()
        self._begin(journal, tick)
        yield from self._handle(arrived)
        yield from self._ticks(tick)
        yield from self._commit(journal, began)
        if tick.final:
            self.close()

    def begin(self, journal: Journal, tick: Tick) -> None:
        """Begin with the state of the last checkpoint. Called once, before the first
        :meth:`round`; ``tick`` is the clock of that round."""
        self._begin(journal, tick)

    def round(self, envelopes: Iterable[Envelope], tick: Tick) -> Iterator[Envelope]:
        """Run one of the rounds of a micro-batch, which :meth:`checkpoint` ends. ``envelopes`` are
        all those of the round for this slot, in any order; what is yielded goes to later
        stages."""
        arrived = _Arrived(self._heads)
        for envelope in envelopes:
            arrived.take(envelope)
        yield from self._context.report.clock.within(self._round(arrived, tick))

    def _round(self, arrived: _Arrived, tick: Tick) -> Iterator[Envelope]:
        began = time.perf_counter()
        self._context.report.wake = None
        self._enter(tick)
        yield from self._handle(arrived)
        self._context.report.spent(f"stage {self.stage}", time.perf_counter() - began)

    def checkpoint(self, journal: Journal, final: bool) -> Iterator[Envelope]:
        """End a micro-batch after its last round: what the driver has to know of it. When the
        generator has ended, the slot's state is in the journal, and the next round may begin,
        unless this was the ``final`` one."""
        yield from self.prepare()
        if final:
            yield from self.write(journal)
            self.close()
        else:
            yield from self.finish(journal)

    def prepare(self) -> Iterator[Envelope]:
        """The first part of :meth:`checkpoint`: sinks and functions prepare for it."""
        yield from self._context.report.clock.within(self._prepare())

    def finish(self, journal: Journal) -> Iterator[Envelope]:
        """All that comes after :meth:`prepare` in a checkpoint that is not the final one."""
        yield from self.write(journal)
        self._written(self.store.begin(journal))

    def write(self, journal: Journal) -> Iterator[Envelope]:
        """The second part of :meth:`checkpoint`: the state is written. A copy of the process may do
        that (:mod:`scurry.state.freezing`)."""
        yield from self._context.report.clock.within(self._write(journal, time.perf_counter()))

    def freeze(self) -> None:
        """A copy of this process, which has been made after :meth:`prepare`, does the second part
        of the checkpoint, and tells all that was to be told until now."""
        self.store.freeze()
        report(self._context)

    def thaw(self, journal: Journal, outcome: Outcome) -> None:
        """The copy has written the state; the end of :meth:`checkpoint`."""
        self._written(self.store.thaw(journal, outcome))

    @property
    def wake(self) -> int | None:
        """When the last round has wished for another one, None if it did not."""
        return self._context.report.wake

    def _handle(self, arrived: _Arrived) -> Iterator[Envelope]:
        """Run the operators on what has arrived."""
        for uid in self._heads:
            yield from self._run_operator(
                uid, arrived.records.pop(uid), arrived.combined.pop(uid), arrived.ends[uid]
            )
            fault_point("process")
        self.task.flush()
        for uid in self._heads:
            reached, delay = self._gates[uid].current, self.task.operators[uid].delay
            if delay:
                reached = int(delayed(np.array([reached], dtype=np.int64), delay)[0])
            mark = Mark(reached, self._gates[uid].all_idle)
            yield from self.task.finish_channel(uid, mark)
        self.task.finish()
        self._ask_for_timers()

    def _commit(self, journal: Journal, began: float) -> Iterator[Envelope]:
        """Have sinks prepare what they were given, and write the slot's state to ``journal``."""
        yield from self._prepare()
        yield from self._write(journal, began)

    def _prepare(self) -> Iterator[Envelope]:
        yield from self.task.prepare()
        yield from self._snapshot()

    def _write(self, journal: Journal, began: float) -> Iterator[Envelope]:
        handled = time.perf_counter()
        self._context.report.count("state_bytes", self.store.commit(journal, self._notes()))
        yield from self._feed()
        ended = time.perf_counter()
        self._context.report.spent(f"state {self.stage}", ended - handled)
        self._context.report.spent(f"stage {self.stage}", ended - began)
        self._context.report.gauges["state_entries"] = self.store.entries
        self._context.report.sizes = self.store.take_sizes()
        self._context.report.written = self.store.take_written()
        self._context.report.types = self.store.take_types()
        self._context.report.forms = self.store.take_forms()
        yield report(self._context)

    def _begin(self, journal: Journal, tick: Tick) -> None:
        notes = self.store.begin(journal)
        forgotten = self.job.forgetting.at(tick.batch, self.stage)
        if forgotten:
            self.store.drop(forgotten, journal)
        self._rebuilt()
        self._restore(notes)
        self._enter(tick)

    def _enter(self, tick: Tick) -> None:
        """Make ``tick`` the clock of what is handled next."""
        self._context.now = tick.now
        self._context.batch = tick.batch
        self._context.turn = tick.batch if tick.turn < 0 else tick.turn
        self._context.state.operators.unions = tick.unions
        if not self._opened:
            self.task.open()
            self._opened = True
        for uid in self._heads:
            self.task.start_channel(uid, str(self.slot))

    def _rebuilding(self, done: int, total: int) -> None:
        if not self._rebuild_began:
            self._rebuild_began = time.time()
        self._context.report.counters["state_rebuilt_bytes"] = done
        share = f"{done * 100 // max(total, 1)} % of {total / 1e6:.1f} MB read"
        purpose = f"rebuild the state of stage {self.stage}, slot {self.slot}"
        wait = Wait("the checkpoint", purpose, share, self._rebuild_began)
        current_board().post(self, wait)

    def _run_operator(
        self, uid: str, arrivals: list[Arrival], combined: list[bytes], ends: dict[str, Mark]
    ) -> Iterator[Envelope]:
        operator, gate, report = self.task.operators[uid], self._gates[uid], self._context.report
        meter, clock = operator.meter, report.clock
        clock.switch(meter)
        operator.begin(gate.current)
        if combined:
            records = operator.process_combined(combined)
            meter.records_in += records
            report.count(f"in:{uid}", records)
        clock.switch(clock.task)
        gate.keep(ends)
        whole, ports = gate.merge(arrivals, ends)
        arrivals.clear()
        if whole is not None:
            meter.records_in += whole.size
            report.count(f"in:{uid}", whole.size)
            if not operator.two_inputs:
                ports = None
            elif ports is None:
                ports = np.zeros(whole.size, dtype=np.int64)
            begin = 0
            clock.switch(meter)
            for piece in whole.slices(CHUNK_ROWS):
                if ports is None:
                    operator.process(piece)
                else:
                    operator.process_ports(piece, ports[begin : begin + piece.size])
                begin += piece.size
                yield from self.task.drain()
        watermark = gate.settle()
        clock.switch(meter)
        operator.advance(watermark)
        clock.switch(clock.task)
        if gate.current > MIN_WATERMARK:
            report.watermarks[uid] = gate.current

    def _ask_for_timers(self) -> None:
        """Wish for a micro-batch at the time of the next timer in processing time."""
        queues = [part for part in self.store.parts if isinstance(part, TimerQueue)]
        for queue in queues:
            if queue.domain == PROCESSING and queue.next_due <= MAX_WATERMARK:
                self._context.report.wake_at(queue.next_due)

    def _snapshot(self) -> Iterator[Envelope]:
        self.task.snapshot()
        unions = self._context.state.operators.own_unions
        if unions:
            told = OperatorReport((self.stage, self.slot), unions=unions)
            yield to_driver(self.slot, OPERATORS, "", encode_report(told))

    def _feed(self) -> Iterator[Envelope]:
        """Tell the view of queryable states what has changed."""
        told = None if self.store.feed is None else self.store.feed.message(self.stage, self.slot)
        if told is not None:
            yield to_driver(self.slot, FEED, "", told)

    def _written(self, notes: bytes) -> None:
        """The checkpoint is written, with ``notes`` in it."""
        self._rebuilt()
        if self.store.feed is not None:
            self.store.feed.begin(decode_report(notes))

    def _rebuilt(self) -> None:
        """Nobody waits for the checkpoint any more."""
        if self._rebuild_began:
            self._rebuild_began = 0.0
            current_board().clear(self)

    def stale(self, journal: Journal) -> bool:
        """Whether functions here hold operator state that is not the journal's, because another
        worker has run this slot since. Such a host must not be used again."""
        return self._opened and self.task.checkpointed and not self.store.holds(journal)

    def _ticks(self, tick: Tick) -> Iterator[Envelope]:
        if self.stage < len(self.job.stages):
            payload = encode_report(tick)
            for slot in range(self.job.parallelism):
                yield Envelope(slot, self.stage + 1, "", 0, "", 0, TICK, 0, payload)

    def _restore(self, notes: bytes) -> None:
        held = decode_report(notes) if notes else {"gates": {}, "cells": {}}
        self._gates = {uid: InputGate() for uid in self._heads}
        for uid, kept in held["gates"].items():
            if uid in self._gates:
                self._gates[uid].restore(kept)
        self._context.state.cells = cells_of(self.task.operators, held["cells"])
        if self.store.feed is not None:
            self.store.feed.begin(held)

    def _notes(self) -> bytes:
        gates = {
            uid: gate.snapshot()
            for uid, gate in self._gates.items()
            if gate.watermarks or gate.current > MIN_WATERMARK
        }
        notes = {"gates": gates, "cells": self._context.state.cells, "stage": self.stage}
        fed = {} if self.store.feed is None else self.store.feed.notes
        return encode_report({**notes, **fed})

    def close(self) -> None:
        """Close the functions, unless that is done; nothing is run here after this."""
        self.closed = True
        self.task.close()
