"""A task: operators chained together, with routers and sinks at their ends.

The operators reachable without a hop from a source, or from the operators that a stage receives
records for, form one task. One instance of each runs per task and slot.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

from scurry.runtime.batch import MAX_WATERMARK
from scurry.runtime.channels import numbered
from scurry.runtime.envelope import COMMIT, DRIVER, REPORT, Envelope
from scurry.runtime.event_time import Mark
from scurry.runtime.handover import Consumer, FanOut
from scurry.runtime.meters import Intake, Meter
from scurry.runtime.operator import Operator
from scurry.runtime.report import encode_report
from scurry.runtime.router import Router
from scurry.runtime.specs import JobSpec, OperatorSpec, SourceSpec, Wire
from scurry.runtime.task_context import TaskContext

#: Calls within calls that an operator of a chain takes, at most, and those outside the chain.
_FRAMES, _FRAMES_BESIDE = 9, 1000
#: Stands for a strategy where there is none.
NO_STRATEGY = ""


@dataclass
class _Head:
    """What the records of a head can reach by chaining."""

    #: exits, each with the last strategy before it, whose watermarks it passes on
    exits: list[tuple[Router, Operator | None]] = field(default_factory=list)
    strategies: list[Operator] = field(default_factory=list)
    #: what runs behind a strategy, by its uid, or behind none: whose watermark is that strategy's
    followers: dict[str, list[Meter]] = field(default_factory=dict)
    #: by strategy: the least mark of the channels finished in this micro-batch
    marks: dict[str, Mark] = field(default_factory=dict)


class Task:
    """The operators of one task, opened and wired.

    A task has one or several *heads*: the sources it reads, or the operators of a stage that
    records arrive for. What is reached from a head by chaining is handled head by head, so records
    of different heads leave in different channels, each with the watermark of its own head.
    """

    def __init__(self, job: JobSpec, context: TaskContext) -> None:
        # operators are made, and batches handed down their chain, by calls within calls
        needed = _FRAMES * len(job.operators) + _FRAMES_BESIDE
        sys.setrecursionlimit(max(sys.getrecursionlimit(), needed))
        self.job = job
        self.context = context
        self.operators: dict[str, Operator] = {}
        self._opened: set[str] = set()
        #: the routers of each operator's outputs
        self._routers: dict[str, list[Router]] = {}
        self._heads: dict[str, _Head] = {}

    def add_head(self, uid: str) -> None:
        """Make the operator ``uid`` and all that is chained behind it."""
        operator = self._operator(uid)
        head = self._heads.setdefault(uid, _Head())
        head.followers.setdefault(NO_STRATEGY, []).append(operator.meter)
        self._trace(self.job.operators[uid], head, None)

    def add_source(self, source: SourceSpec) -> dict[str, list[Consumer]]:
        """Make the chain behind a source; returns what consumes the batches of its outputs, by
        tag, the main output's being empty."""
        consumers = {tag: self._consumers(source, tag, wires) for tag, wires in _outputs(source)}
        self.context.report.meters.setdefault(source.uid, Meter())
        self._trace(source, self._heads.setdefault(source.uid, _Head()), None)
        return consumers

    def open(self) -> None:
        """Open all operators that are not open yet, the last of the chain first."""
        for uid, operator in reversed(self.operators.items()):
            if uid not in self._opened:
                self._opened.add(uid)
                operator.open(self.context)

    @property
    def checkpointed(self) -> bool:
        """Whether some function has operator state."""
        return any(operator.checkpointed for operator in self.operators.values())

    def snapshot(self) -> None:
        """Keep the operator states as they are at the end of the micro-batch."""
        for operator in self.operators.values():
            operator.snapshot()

    def close(self) -> None:
        """Close the operators that were opened, each once: also those whose ``open`` has failed,
        as in Flink, and all of them if some fail to close. Raises the first failure."""
        opened, self._opened = self._opened, set()
        failures: list[BaseException] = []
        for uid, operator in self.operators.items():
            if uid in opened:
                try:
                    operator.close()
                except Exception as failure:
                    failures.append(operator.failed(failure))
                    failures[-1].__cause__ = failure
        if failures:
            raise failures[0]

    def _operator(self, uid: str) -> Operator:
        if uid not in self.operators:
            spec = self.job.operators[uid]
            operator = self.operators[uid] = spec.make(spec)
            self.context.report.meters[uid] = operator.meter
            operator.wire(
                self._consumers(spec, "", spec.outputs),
                {
                    tag: self._consumers(spec, tag, wires)
                    for tag, wires in spec.side_outputs.items()
                },
            )
        return self.operators[uid]

    def _consumers(
        self, sender: OperatorSpec | SourceSpec, tag: str, wires: tuple[Wire, ...]
    ) -> list[Consumer]:
        found = [self._consumer(sender, tag, wire, copy) for copy, wire in numbered(wires)]
        if len(found) < 2 or self.context.handover.reuse:
            return found
        reads = [wire.partitioning is not None for wire in wires]
        return [FanOut(list(zip(found, reads, strict=True)), sender.name, sender.uid)]

    def _consumer(
        self, sender: OperatorSpec | SourceSpec, tag: str, wire: Wire, copy: int
    ) -> Consumer:
        if wire.partitioning is None:
            operator = self._operator(wire.target)
            return Intake(operator.process, wire.port, operator.meter, self.context.report.clock)
        router = Router(sender, wire, self.job, self.context, tag, copy)
        self._routers.setdefault(sender.uid, []).append(router)
        return router.send

    def _trace(
        self,
        spec: OperatorSpec | SourceSpec,
        head: _Head,
        strategy: Operator | None,
    ) -> None:
        """Find what the records of ``spec`` can reach; ``strategy`` is the last one before it."""
        head.exits.extend((router, strategy) for router in self._routers.get(spec.uid, ()))
        for _, wires in _outputs(spec):
            for wire in wires:
                if wire.partitioning is None:
                    operator, onward = self.operators[wire.target], strategy
                    above = NO_STRATEGY if strategy is None else strategy.spec.uid
                    head.followers.setdefault(above, []).append(operator.meter)
                    if operator.makes_watermarks:
                        onward = operator
                        head.strategies.append(operator)
                    self._trace(operator.spec, head, onward)

    def start_channel(self, head: str, place: str) -> None:
        """Make ``place`` the current place of ``head``: what is routed from now on belongs to the
        channels from there. One may return to a place until its channels are finished."""
        self.context.channel = place
        for router, _ in self._heads[head].exits:
            router.start(place)

    @property
    def holds_back(self) -> bool:
        """Whether any operator emits records later than it is given them."""
        return any(operator.holds_back for operator in self.operators.values())

    def drain(self) -> Iterator[Envelope]:
        """Envelopes that are ready to travel."""
        for routers in self._routers.values():
            for router in routers:
                yield from router.drain()

    def flush(self) -> None:
        """Have operators emit what they hold back of the current channel."""
        # what one operator lets go of another may hold back again
        late = [operator for operator in self.operators.values() if operator.holds_back]
        while any(self._flush(operator) for operator in late):
            pass

    def _flush(self, operator: Operator) -> bool:
        clock = self.context.report.clock
        before = clock.switch(operator.meter)
        found = operator.flush()
        clock.switch(before)
        return found

    def finish_channel(self, head: str, mark: Mark) -> Iterator[Envelope]:
        """Finish the current channels of ``head``, which have no more records in this micro-batch;
        ``mark`` is the mark of the head."""
        reached = self._heads[head]
        marks = {strategy.spec.uid: strategy.mark() for strategy in reached.strategies}
        for uid, one in (*marks.items(), (NO_STRATEGY, mark)):
            shown = mark if mark.watermark == MAX_WATERMARK else one
            reached.marks[uid] = _least(reached.marks.get(uid, shown), shown)
        for router, strategy in reached.exits:
            # a strategy replaces the watermarks from above, except for the very last one
            if strategy is None or mark.watermark == MAX_WATERMARK:
                yield from router.finish(mark)
            else:
                yield from router.finish(marks[strategy.spec.uid])

    def finish(self) -> None:
        """End the micro-batch, or a round of it, for all operators."""
        clock = self.context.report.clock
        for operator in self.operators.values():
            clock.switch(operator.meter)
            operator.finish()
        clock.switch(clock.task)
        self._read_watermarks()

    def prepare(self) -> Iterator[Envelope]:
        """The commit messages of sinks, for all that they were given since the last call."""
        index, clock = self.context.place.index, self.context.report.clock
        for operator in self.operators.values():
            clock.switch(operator.meter)
            message = operator.prepare()
            if message is not None:
                yield to_driver(index, COMMIT, operator.spec.uid, message)
        clock.switch(clock.task)

    def _read_watermarks(self) -> None:
        """Have the meters show where event time stands at the end of the micro-batch."""
        seen: dict[int, Mark] = {}
        for head in self._heads.values():
            for uid, mark in head.marks.items():
                for meter in head.followers.get(uid, ()):
                    low = seen[id(meter)] = _least(seen.get(id(meter), mark), mark)
                    meter.input_watermark = meter.output_watermark = low.watermark
        for head in self._heads.values():
            for strategy in head.strategies:
                found = head.marks.get(strategy.spec.uid)
                if found is not None:
                    strategy.meter.output_watermark = found.watermark
            head.marks = {}


def report(context: TaskContext) -> Envelope:
    """What a task has to tell the driver about itself."""
    told = encode_report(context.report.take(context.place.stage, context.place.index))
    return to_driver(context.place.index, REPORT, "", told)


def to_driver(index: int, kind: int, dest: str, payload: bytes) -> Envelope:
    """An envelope that every stage hands on until it reaches the driver."""
    return Envelope(index, DRIVER, dest, 0, "", 0, kind, 0, payload)


def _least(one: Mark, other: Mark) -> Mark:
    """The mark that holds event time back; an idle channel holds back nobody."""
    if one.idle != other.idle:
        return other if one.idle else one
    return min(one, other)


def _outputs(spec: OperatorSpec | SourceSpec) -> list[tuple[str, tuple[Wire, ...]]]:
    return [("", spec.outputs), *spec.side_outputs.items()]
