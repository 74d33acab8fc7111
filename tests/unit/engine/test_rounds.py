"""Jobs that run in rounds: what a crash between any two steps of a checkpoint leads to."""

from __future__ import annotations

from typing import Any

import pytest

from scurry.common import WatermarkStrategy
from scurry.common.errors import StateError
from scurry.common.time import Time
from scurry.common.typeinfo import Types
from scurry.compile.job import CompiledJob
from scurry.datastream import (
    KeyedProcessFunction,
    StreamExecutionEnvironment,
    WindowFunction,
)
from scurry.datastream.state import ValueStateDescriptor
from scurry.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from scurry.functions.sink import Sink
from scurry.testing import ListSink, LocalJob
from scurry.testing.local_rounds import LocalRounds


class Count(KeyedProcessFunction):
    def open(self, ctx: Any) -> None:
        self.count = ctx.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value, count


EXPECTED = sorted((key, count) for key in range(3) for count in range(1, 11))


def compiled(sink: Sink, name: str = "out") -> CompiledJob:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    numbers = env.from_collection([n % 3 for n in range(30)]).uid("numbers")
    counted = numbers.key_by(lambda n: n).process(Count()).uid("count")
    counted.sink_to(sink).uid(name)
    return env._compile(None)


def run(job: LocalJob, size: int = 4) -> None:
    while not job.done:
        assert job.step(size)


def test_rounds_give_what_micro_batches_give() -> None:
    sink = ListSink()
    with LocalRounds(compiled(sink), rounds=2) as job:
        run(job)
    assert sorted(sink.values) == EXPECTED


class Telling(ListSink):
    """Tells when it commits."""

    def __init__(self, told: list[str]) -> None:
        super().__init__()
        self.told = told

    def __reduce__(self) -> Any:
        return Telling, ([],)

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        self.told.append("commit")


def test_sinks_commit_when_the_epoch_survives_a_loss_of_power(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    with LocalRounds(compiled(Telling(told)), rounds=2) as job:
        for name in ("write_promises", "sync", "write_epoch"):
            method = getattr(job.checkpoint, name)

            def call(*arguments: Any, name: str = name, method: Any = method) -> None:
                told.append(name)
                method(*arguments)

            monkeypatch.setattr(job.checkpoint, name, call)
        job.step(4)
    assert told == ["write_promises", "sync", "write_epoch", "sync", "commit"]


class Failing(ListSink):
    """Fails once, before or after it has committed a micro-batch."""

    def __init__(self, when: str) -> None:
        super().__init__()
        self.when = when

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        if batch_id == 1 and self.when == "before":
            self.when = ""
            raise OSError("no room")
        super().commit(batch_id, messages)
        if batch_id == 1 and self.when == "after":
            self.when = ""
            raise OSError("the connection broke")


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_was_prepared_is_committed_when_the_job_starts_again(when: str) -> None:
    sink = Failing(when)
    with LocalRounds(compiled(sink), rounds=2) as job:
        assert job.step(4)
        with pytest.raises(OSError, match=r"no room|connection broke"):
            job.step(4)
        # the checkpoint counts, although its sink has not heard of it
        epoch = job.checkpoint.last_epoch()
        assert epoch is not None
        assert epoch.batch == 1
        job.recover()
        assert job.checkpoint.promises(1) == {}
        run(job)
    assert sorted(sink.values) == EXPECTED


class LastOfEight(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        if value % 8 == 7:
            yield value


def test_what_an_attempt_has_promised_that_came_to_nothing_is_not_committed() -> None:
    """The attempt after it ends after its epoch, for which sinks had nothing to prepare."""
    sink = ListSink()
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    numbers = env.from_collection(list(range(16))).uid("numbers")
    numbers.key_by(lambda n: 0).process(LastOfEight()).uid("some").sink_to(sink).uid("out")

    def end(*_: Any) -> None:
        raise OSError("power went off")

    with LocalRounds(env._compile(None), rounds=1) as job:
        for size, step in ((4, "write_epoch"), (1, "drop_promises")):
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(job.checkpoint, step, end)
                patched.setattr(ListSink, "commit", end)
                with pytest.raises(OSError, match="power"):
                    job.step(size)
            job.recover()
        assert sink.values == []
        run(job)
    assert sink.values == [7, 15]


def test_a_program_without_the_sink_that_has_not_written_everything() -> None:
    sink = Failing("before")
    with LocalRounds(compiled(sink), rounds=2) as job:
        assert job.step(4)
        with pytest.raises(OSError, match=r"no room|connection broke"):
            job.step(4)
        with pytest.raises(StateError, match=r"before the sinks 'out' had written all that the"):
            job.continue_as(compiled(ListSink(), "other"), allow_non_restored_state=True)


class Later(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_processing_time_timer(1000)
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), timestamp


def test_a_timer_that_was_due_in_a_round_that_is_lost_fires_after_the_crash() -> None:
    sink = ListSink()
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    numbers = env.from_collection(list(range(8)))
    numbers.key_by(lambda n: n).process(Later()).sink_to(sink)
    with LocalRounds(env._compile(None), rounds=1) as job:
        assert job.step(1)  # a round of one record, and a marked one of another
        job.clock = 1000
        assert job.crash_step(0)
        assert sorted(sink.values) == [(0, 1000), (1, 1000)]


@pytest.mark.parametrize(
    ("assigner", "expected"),
    [
        # of the times 0 to 19, those of a key are as far apart as there are keys
        (TumblingEventTimeWindows.of(Time.milliseconds(10)), {0: [4, 3], 1: [3, 4], 2: [3, 3]}),
        (
            SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5)),
            {0: [2, 4, 3, 3, 2], 1: [2, 3, 3, 4, 2], 2: [1, 3, 4, 3, 1]},
        ),
        (EventTimeSessionWindows.with_gap(Time.milliseconds(4)), {0: [7], 1: [7], 2: [6]}),
    ],
    ids=["tumbling", "sliding", "session"],
)
@pytest.mark.parametrize("crash", [False, True])
def test_windows_whose_state_copies_write(
    assigner: WindowAssigner[Any, Any], expected: dict[int, list[int]], crash: bool
) -> None:
    sink = ListSink()
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    strategy: Any = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda n, _: n
    )
    numbers = env.from_collection(list(range(20))).assign_timestamps_and_watermarks(strategy)
    windows = numbers.key_by(lambda n: n % 3).window(assigner)
    windows.apply(_Size()).sink_to(sink)
    with LocalRounds(env._compile(None), rounds=2, copies=True) as job:
        while not job.done:
            assert (job.crash_step if crash and job.batch == 1 else job.step)(2)
        assert job.copied > 2
    found: dict[int, list[int]] = {}
    for key, _, size in sorted(sink.values):
        found.setdefault(key, []).append(size)
    assert found == expected


class _Size(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Any) -> Any:
        yield key, window.start, len(list(inputs))
