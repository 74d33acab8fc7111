"""Two and three drivers on one checkpoint, in the local engine: whoever was taken for dead and
goes on writes nothing more, wherever it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scurry.common.errors import LeaseLostError
from scurry.datastream import StreamExecutionEnvironment
from scurry.engine.protocol import CommitProtocol
from scurry.functions.fencing import Fence
from scurry.functions.history import Mark
from scurry.functions.sink import CommitterContext, Sink, SinkWriter, WriterContext
from scurry.testing import ListSink
from scurry.testing.local import LocalJob


class Target:
    """Where all drivers write to: rows, the last mark, and the greatest epoch that has entered."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.mark: Mark | None = None
        self.epoch = 0


class FencedSink(Sink):
    """A user's sink that compares the epoch in its context with that of the target."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.before_write: Callable[[], None] = lambda: None
        self.on_start: Callable[[], None] = lambda: None

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return ListSink().create_writer(context)

    def start(self, context: CommitterContext) -> None:
        self.history, self.lease = context.history, context.lease
        self.on_start()

    def committed_mark(self) -> Mark | None:
        return self.target.mark

    def recover(self, batch_id: int) -> None:
        self.lease.enter(self.target.epoch)
        self.target.epoch = self.lease.epoch

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        self.before_write()
        self.lease.admit(self.target.epoch)
        if not self.history.repeats(batch_id, self.target.mark):
            self.target.rows += [row for _, rows in messages for row in rows]
            self.target.mark = self.history.mark(batch_id)


NUMBERS = list(range(12))


def driver(target: Target, after: LocalJob | None = None) -> tuple[LocalJob, FencedSink]:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    sink = FencedSink(target)
    stream = env.from_collection(NUMBERS).uid("numbers").key_by(lambda n: n % 3)
    stream.reduce(lambda a, b: a + b).uid("sums").sink_to(sink).uid("sink")
    return LocalJob(env._compile(None), after=after), sink


def run_out(job: LocalJob) -> None:
    while job.step(2):
        pass


def expected() -> list[int]:
    sums, found = {0: 0, 1: 0, 2: 0}, []
    for n in NUMBERS:
        sums[n % 3] += n
        found.append(sums[n % 3])
    return sorted(found)


def _before_plan(job: LocalJob, sink: FencedSink) -> Callable[[], object]:
    return lambda: job.step(2)


def _after_plan(job: LocalJob, sink: FencedSink) -> Callable[[], object]:
    job.plan_step(2)
    return lambda: job.step(2)


def _after_execution(job: LocalJob, sink: FencedSink) -> Callable[[], object]:
    job.plan_step(2)
    envelopes = job._execute()
    return lambda: job._protocol.finish_batch(job.batch, envelopes)


def _after_sinks(job: LocalJob, sink: FencedSink) -> Callable[[], object]:
    """All sinks have it; what is left is the epoch."""
    job.plan_step(2)
    protocol: CommitProtocol = job._protocol
    lease, protocol._lease = protocol._lease, Fence()
    received = protocol._receive(job._execute())
    for each in protocol._sinks.values():
        each.commit(job.batch, received.messages[each.uid])
    protocol._lease = lease

    def wake() -> None:
        protocol._lease.check()

    return wake


def _before_telling_sources(job: LocalJob, sink: FencedSink) -> Callable[[], object]:
    job.plan_step(2)
    job._protocol.finish_batch(job.batch, job._execute())
    job.checkpoint.commit(job.batch)
    return job._protocol.committed


MOMENTS = [_before_plan, _after_plan, _after_execution, _after_sinks, _before_telling_sources]


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: moment.__name__.strip("_"))
@pytest.mark.parametrize("drivers", [2, 3])
@pytest.mark.parametrize("wakes", ["in between", "at the end"])
def test_a_driver_that_wakes_up_changes_nothing(moment: Any, drivers: int, wakes: str) -> None:
    target = Target()
    sleepers = []
    job, sink = driver(target)
    for _ in range(drivers - 1):
        job.step(2)
        sleepers.append((job, moment(job, sink)))
        job, sink = driver(target, after=job)
    job.step(2)
    if wakes == "at the end":
        run_out(job)
    before = list(target.rows)
    for _, wake in sleepers:
        with pytest.raises(LeaseLostError):
            wake()
    assert target.rows == before
    run_out(job)
    assert sorted(target.rows) == expected()
    for each in [job, *(sleeper for sleeper, _ in sleepers)]:
        each.close()


def test_a_driver_paused_between_its_check_and_its_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lease was its own when it looked; the target refuses it all the same."""
    target = Target()
    first, sink = driver(target)
    first.step(2)
    others: list[LocalJob] = []

    def another_takes_over() -> None:
        sink.before_write = lambda: None
        others.append(driver(target, after=first)[0])
        others[0].step(2)

    sink.before_write = another_takes_over
    with pytest.raises(LeaseLostError):
        first.step(2)
    run_out(others[0])
    assert sorted(target.rows) == expected()
    first.close()
    others[0].close()


def test_a_batch_planned_while_the_next_driver_takes_over_is_run_again_by_it() -> None:
    """The first had made sure of its lease, and writes plan and sinks before the second's sinks
    keep it out: the second must know that batch."""
    target = Target()
    first, _ = driver(target)
    first.step(2)
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    slow = FencedSink(target)

    def first_goes_on() -> None:
        slow.on_start = lambda: None
        first._protocol._lease = Fence()
        first.step(2)

    slow.on_start = first_goes_on
    stream = env.from_collection(NUMBERS).uid("numbers").key_by(lambda n: n % 3)
    stream.reduce(lambda a, b: a + b).uid("sums").sink_to(slow).uid("sink")
    second = LocalJob(env._compile(None), after=first)
    run_out(second)
    assert sorted(target.rows) == expected()
    first.close()
    second.close()
