"""A task: operators chained together, with routers and sinks at their ends.

The operators reachable without a hop from a source, or from the operators that a stage receives
records for, form one task. One instance of each runs per task and slot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from scurry.runtime.batch import MAX_WATERMARK
from scurry.runtime.envelope import COMMIT, DRIVER, REPORT, Envelope
from scurry.runtime.event_time import Mark, TimestampsOperator
from scurry.runtime.handover import Consumer, FanOut
from scurry.runtime.operator import Operator, TaskContext
from scurry.runtime.report import encode_report
from scurry.runtime.router import Router
from scurry.runtime.sinks import SinkOperator
from scurry.runtime.specs import JobSpec, OperatorSpec, SourceSpec, Wire

#: Finds the mark that a router passes on, among those of heads and strategies.
Feed = Callable[[dict[str, Mark]], Mark]


class Task:
    """The operators of one task, opened and wired."""

    def __init__(self, job: JobSpec, context: TaskContext) -> None:
        self.job = job
        self.context = context
        self.operators: dict[str, Operator] = {}
        self.routers: list[Router] = []
        self._router_at: dict[tuple[str, str, int], Router] = {}
        self._feeds: dict[int, list[Feed]] = {}

    def add_head(self, uid: str) -> Operator:
        """Make the operator ``uid`` and all that is chained behind it."""
        operator = self._operator(uid)
        self._trace(uid, self._outputs(self.job.operators[uid]), _from_head(uid))
        return operator

    def add_source(self, source: SourceSpec) -> dict[str, list[Consumer]]:
        """Make the chain behind a source; returns what consumes the batches of its outputs, by
        tag, the main output's being empty."""
        outputs = self._outputs(source)
        consumers = {tag: self._consumers(source, tag, wires) for tag, wires in outputs}
        self._trace(source.uid, outputs, _from_head(source.uid))
        return consumers

    def open(self) -> None:
        """Open all operators, the last of the chain first."""
        for operator in reversed(self.operators.values()):
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
        """Close all operators."""
        for operator in self.operators.values():
            operator.close()

    def _operator(self, uid: str) -> Operator:
        if uid not in self.operators:
            spec = self.job.operators[uid]
            operator = self.operators[uid] = spec.make(spec)
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
        ends = [(wire.target, wire.port) for wire in wires]
        found = [
            self._consumer(sender, tag, at, wire, ends[:at].count(ends[at]))
            for at, wire in enumerate(wires)
        ]
        if len(found) < 2 or self.context.handover.reuse:
            return found
        reads = [wire.partitioning is not None for wire in wires]
        return [FanOut(list(zip(found, reads, strict=True)), sender.name, sender.uid)]

    def _consumer(
        self, sender: OperatorSpec | SourceSpec, tag: str, at: int, wire: Wire, copy: int
    ) -> Consumer:
        if wire.partitioning is None:
            return partial(self._operator(wire.target).process, port=wire.port)
        router = Router(sender, wire, self.job, self.context, tag, copy)
        self.routers.append(router)
        self._router_at[sender.uid, tag, at] = router
        return router.send

    def _outputs(self, spec: OperatorSpec | SourceSpec) -> list[tuple[str, tuple[Wire, ...]]]:
        return [("", spec.outputs), *spec.side_outputs.items()]

    def _trace(
        self,
        uid: str,
        outputs: list[tuple[str, tuple[Wire, ...]]],
        feed: Feed,
    ) -> None:
        """Find out which watermark each router passes on."""
        for tag, wires in outputs:
            for at, wire in enumerate(wires):
                if wire.partitioning is not None:
                    router = self._router_at[uid, tag, at]
                    self._feeds.setdefault(id(router), []).append(feed)
                    continue
                operator, onward = self.operators[wire.target], feed
                if isinstance(operator, TimestampsOperator):
                    onward = _from_strategy(operator.spec.uid, feed)
                self._trace(wire.target, self._outputs(operator.spec), onward)

    def start_channel(self, channel: str) -> None:
        """What is routed from now on belongs to ``channel``, to which one may return until it is
        finished."""
        self.context.channel = channel
        for router in self.routers:
            router.start(channel)

    @property
    def holds_back(self) -> bool:
        """Whether any operator emits records later than it is given them."""
        return any(operator.holds_back for operator in self.operators.values())

    def drain(self) -> Iterator[Envelope]:
        """Envelopes that are ready to travel."""
        for router in self.routers:
            yield from router.drain()

    def finish_channel(self, marks: dict[str, Mark]) -> Iterator[Envelope]:
        """The current channel is complete; ``marks`` are those of the heads."""
        # what one operator lets go of another may hold back again
        while any(operator.flush() for operator in self.operators.values()):
            pass
        marks = dict(marks)
        for uid, operator in self.operators.items():
            if isinstance(operator, TimestampsOperator):
                marks[uid] = operator.mark()
        for router in self.routers:
            feeds = self._feeds[id(router)]
            yield from router.finish(_least([feed(marks) for feed in feeds]))

    def finish(self) -> Iterator[Envelope]:
        """The micro-batch is over: what the driver must know."""
        index = self.context.index
        for operator in self.operators.values():
            operator.finish()
            if isinstance(operator, SinkOperator):
                message = operator.prepare()
                if message is not None:
                    yield to_driver(index, COMMIT, operator.spec.uid, message)


def report(context: TaskContext) -> Envelope:
    """What a task has to tell the driver about itself."""
    return to_driver(context.index, REPORT, "", encode_report(context.take_report()))


def to_driver(index: int, kind: int, dest: str, payload: bytes) -> Envelope:
    """An envelope that every stage hands on until it reaches the driver."""
    return Envelope(index, DRIVER, dest, 0, "", 0, kind, 0, payload)


def _from_head(uid: str) -> Feed:
    return lambda marks: marks[uid]


def _from_strategy(uid: str, feed: Feed) -> Feed:
    """A strategy replaces the watermarks from above, except for the very last one."""

    def mark(marks: dict[str, Mark]) -> Mark:
        above = feed(marks)
        return above if above.watermark == MAX_WATERMARK else marks[uid]

    return mark


def _least(marks: list[Mark]) -> Mark:
    """What several inputs have reached together: idle ones do not count, unless all are."""
    active = [mark.watermark for mark in marks if not mark.idle]
    if active:
        return Mark(min(active))
    return Mark(max(mark.watermark for mark in marks), idle=True)
