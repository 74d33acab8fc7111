"""An element that user code fails on can leave by a side output instead of failing the job."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from scurry.common import Configuration, Duration, Time, WatermarkStrategy
from scurry.common.errors import ConfigurationError, FunctionError, ProgramError
from scurry.common.watermark_strategy import TimestampAssigner
from scurry.datastream import (
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.functions import (
    DEAD_LETTERS,
    DeadLetter,
    ReadPlan,
    ReadRange,
    Source,
    SourceBatch,
    SourceEnumerator,
)
from scurry.datastream.state import MapStateDescriptor, ValueStateDescriptor
from scurry.testing import ListSink, run_local

RULES = MapStateDescriptor("rules")
DATA = [3, 0, 5, "x", 2, 0]
#: what dividing 60 by each of DATA gives, and what it fails on
GOOD, POISON = [20, 12, 30], [0, "x", 0]


def environment(policy: str = "dead-letter") -> StreamExecutionEnvironment:
    configuration = Configuration.of({"scurry.on-error": policy})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    return env.set_parallelism(2)


def divide(value: Any) -> int:
    return 60 // value


class Divide(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.output(OutputTag("tried"), value)
        yield from [divide(value)]


class DivideKeyed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield divide(value)


class DivideBoth(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield divide(value)

    process_element2 = process_element1


class DivideEither(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return divide(value)

    map2 = map1


class DivideBeside(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield divide(value)

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        pass


class DivideKeyedBeside(KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield divide(value)

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        pass


class AsTimestamp(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return divide(value)


class DivideLater(AsyncFunction):
    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.sleep(0.001)
        return [divide(value)]


STRATEGY = WatermarkStrategy.for_bounded_out_of_orderness(
    Duration.of_millis(1000)
).with_timestamp_assigner(AsTimestamp())

#: for each kind of operator: a stream on which dividing is what can fail
KINDS: dict[str, Callable[[Any], Any]] = {
    "map": lambda stream: stream.map(divide),
    "flat_map": lambda stream: stream.flat_map(lambda v: [divide(v)]),
    "filter": lambda stream: stream.filter(lambda v: divide(v) > 0).map(divide),
    "process": lambda stream: stream.process(Divide()),
    "keyed process": lambda stream: stream.key_by(str).process(DivideKeyed()),
    "keyed map": lambda stream: stream.key_by(str).map(divide),
    "key selector": lambda stream: stream.key_by(divide).map(divide),
    "timestamps": lambda stream: stream.assign_timestamps_and_watermarks(STRATEGY).map(divide),
    "async, ordered": lambda stream: AsyncDataStream.ordered_wait(
        stream, DivideLater(), Time.seconds(5), 3
    ),
    "async, unordered": lambda stream: AsyncDataStream.unordered_wait(
        stream, DivideLater(), Time.seconds(5), 3
    ),
    "co-process": lambda stream: stream.connect(stream.filter(lambda v: False)).process(
        DivideBoth()
    ),
    "co-map": lambda stream: stream.connect(stream.filter(lambda v: False)).map(DivideEither()),
    "keyed co-process": lambda stream: (
        stream.connect(stream.filter(lambda v: False)).key_by(str, str).process(DivideBoth())
    ),
    "broadcast": lambda stream: stream.connect(
        stream.filter(lambda v: v == 5).broadcast(RULES)
    ).process(DivideBeside()),
    "keyed broadcast": lambda stream: (
        stream.key_by(str)
        .connect(stream.filter(lambda v: v == 5).broadcast(RULES))
        .process(DivideKeyedBeside())
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cuts", [None, 1, 4])
def test_every_operator_goes_on_and_nothing_is_lost(kind: str, cuts: int | None) -> None:
    env = environment()
    results, letters = ListSink(), ListSink()
    KINDS[kind](env.from_collection(DATA)).sink_to(results)
    env.dead_letters().sink_to(letters)
    run_local(env, cuts, crash=[0])
    assert sorted(results.values) == sorted(GOOD)
    assert all(type(letter) is DeadLetter for letter in letters.values)
    assert sorted(str(letter.element) for letter in letters.values) == sorted(map(str, POISON))
    assert {letter.error.split(":")[0] for letter in letters.values} == {
        "ZeroDivisionError",
        "TypeError",
    }


@pytest.mark.parametrize("kind", KINDS)
def test_without_the_setting_the_job_fails(kind: str) -> None:
    env = environment("fail")
    KINDS[kind](env.from_collection(DATA)).sink_to(ListSink())
    with pytest.raises(FunctionError, match="ZeroDivisionError"):
        run_local(env)


def test_a_letter_tells_what_where_and_why() -> None:
    env = environment()
    letters = ListSink()
    numbers = env.from_collection([(1, 4000), (0, 5000)])

    class Second(TimestampAssigner):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            return int(value[1])

    timed = numbers.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Second())
    )
    timed.map(lambda v: 1 // v[0]).name("one over").uid("over").print()
    env.dead_letters().sink_to(letters)
    run_local(env)
    (letter,) = letters.values
    assert letter.element == (0, 5000)
    assert (letter.operator, letter.uid) == ("one over", "over")
    assert letter.error.startswith("ZeroDivisionError: ")
    assert "test_dead_letters.py" in letter.traceback
    assert letter.timestamp == 5000


def test_one_operator_alone() -> None:
    env = environment("fail")
    results, letters = ListSink(), ListSink()
    divided = env.from_collection(DATA).map(divide).on_error("dead-letter")
    divided.sink_to(results)
    divided.get_side_output(DEAD_LETTERS).map(lambda letter: letter.element).sink_to(letters)
    run_local(env)
    assert results.values == GOOD
    assert letters.values == POISON


def test_a_call_that_takes_too_long_is_a_letter() -> None:
    class Slow(AsyncFunction):
        async def async_invoke(self, value: int) -> list[int]:
            await asyncio.sleep(0 if value % 2 else 60)
            return [value]

    env = environment()
    results, letters = ListSink(), ListSink()
    called = AsyncDataStream.unordered_wait(
        env.from_collection([1, 2, 3, 4, 5]), Slow(), Time.milliseconds(50), 2
    )
    called.sink_to(results)
    called.get_side_output(DEAD_LETTERS).sink_to(letters)
    run_local(env, cuts=2)
    assert sorted(results.values) == [1, 3, 5]
    assert sorted(letter.element for letter in letters.values) == [2, 4]
    assert all("TimeoutError" in letter.error for letter in letters.values)


def test_letters_of_a_key_by() -> None:
    env = environment("fail")
    letters = ListSink()
    keyed = env.from_collection(DATA).key_by(divide).on_error("dead-letter")
    keyed.map(str).print()
    keyed.get_side_output(DEAD_LETTERS).map(lambda letter: letter.element).sink_to(letters)
    run_local(env)
    assert letters.values == POISON


def test_an_operator_can_be_excepted() -> None:
    env = environment()
    env.from_collection(DATA).map(divide).on_error("fail").print()
    env.from_collection([1]).map(str).print()
    env.dead_letters().print()
    with pytest.raises(FunctionError, match="ZeroDivisionError"):
        run_local(env)


class Half(KeyedProcessFunction):
    """Changes state and emits, and then fails for odd values."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.seen.update((self.seen.value() or 0) + 1)
        ctx.output(OutputTag("side"), value)
        yield "began", value
        if value % 2:
            raise ValueError("odd")
        yield "seen", self.seen.value()


@pytest.mark.parametrize("cuts", [None, 1])
def test_what_a_failing_call_emitted_is_discarded_and_its_state_stays(cuts: int | None) -> None:
    env = environment()
    main, side, letters = ListSink(), ListSink(), ListSink()
    halves = env.from_collection([2, 3, 4]).key_by(lambda v: 0).process(Half())
    halves.sink_to(main)
    halves.get_side_output(OutputTag("side")).sink_to(side)
    env.dead_letters().map(lambda letter: letter.element).sink_to(letters)
    run_local(env, cuts)
    assert main.values == [("began", 2), ("seen", 1), ("began", 4), ("seen", 3)]
    assert side.values == [2, 4]
    assert letters.values == [3]


class FailingTimer(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        ctx.timer_service().register_event_time_timer(value)
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield divide(timestamp - 10)


def test_a_timer_that_fails_is_a_letter_too() -> None:
    env = environment()
    results, letters = ListSink(), ListSink()
    timed = env.from_collection([10, 20]).key_by(lambda v: f"key {v}").process(FailingTimer())
    timed.sink_to(results)
    env.dead_letters().sink_to(letters)
    run_local(env)
    assert results.values == [6]
    (letter,) = letters.values
    assert (letter.element, letter.timestamp, letter.key) == (None, 10, "key 10")


def test_reduce_keeps_the_value_before_the_poison() -> None:
    env = environment()
    results, letters = ListSink(), ListSink()
    numbers = env.from_collection([1, 2, "x", 3])
    numbers.key_by(lambda v: 0).reduce(lambda a, b: a + b).sink_to(results)
    env.dead_letters().map(lambda letter: letter.element).sink_to(letters)
    run_local(env)
    assert results.values == [1, 3, 6]
    assert letters.values == ["x"]


@dataclass(frozen=True)
class BadLine:
    line: str
    error: str


class Lines(Source):
    """Rejects every second record."""

    max_tasks = 1
    side_outputs = (DEAD_LETTERS,)

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return _Once()

    def read(self, what: Any) -> Iterator[SourceBatch]:
        yield SourceBatch(rows=["good"], rejected=[BadLine("b@d", "ValueError: no line")])


class _Once(SourceEnumerator):
    def initial_position(self) -> int:
        return 0

    def plan(self, position: int, max_records: int) -> ReadPlan:
        return ReadPlan(1, [ReadRange("0", 0)], finished=True)


def test_what_a_source_rejects_is_among_all_letters() -> None:
    env = environment("fail")
    letters = ListSink()
    env.from_source(Lines(), None, "lines").uid("lines").print()
    env.dead_letters().sink_to(letters)
    run_local(env)
    (letter,) = letters.values
    assert letter == DeadLetter(
        BadLine("b@d", "ValueError: no line"), "Source: lines", "lines", "ValueError: no line"
    )


def test_letters_that_nobody_reads() -> None:
    env = environment()
    env.from_collection(DATA).map(divide).name("divide").print()
    with pytest.raises(
        ProgramError, match=r"'divide' \(.*test_dead_letters.*nothing reads them.*dead_letters\(\)"
    ):
        env.explain()


def test_nobody_sends_letters() -> None:
    env = environment("fail")
    env.from_collection(DATA).map(divide).print()
    env.dead_letters().print()
    with pytest.raises(ProgramError, match="no operator sends anything there"):
        env.explain()


def test_operators_that_cannot_tell() -> None:
    env = environment("fail")
    stream = env.from_collection([1]).map_batches(lambda batch: batch).on_error("dead-letter")
    stream.print()
    with pytest.raises(ProgramError, match=r"'Map Batches'.*cannot tell which element"):
        env.explain()


def test_a_handler_of_letters_fails_as_usual() -> None:
    env = environment()
    env.from_collection(DATA).map(divide).print()
    env.dead_letters().map(lambda letter: letter.no_such_field).print()
    with pytest.raises(FunctionError, match="no_such_field"):
        run_local(env)


def test_a_handler_cannot_send_letters_to_itself() -> None:
    env = environment()
    env.from_collection(DATA).map(divide).print()
    env.dead_letters().map(str).on_error("dead-letter").print()
    with pytest.raises(ProgramError, match="handles dead letters and sends its own to the same"):
        env.explain()


def test_policies_that_do_not_exist() -> None:
    env = environment("ignore")
    env.from_collection([1]).print()
    with pytest.raises(ConfigurationError, match="'ignore'; it must be one of fail, dead-letter"):
        env.explain()
    with pytest.raises(ProgramError, match=r"on_error\('skip'\).*'fail' or 'dead-letter'"):
        environment().from_collection([1]).map(str).on_error("skip")


def test_explain_says_who_sends_letters_and_uids_stay() -> None:
    def build(policy: str) -> str:
        env = environment(policy)
        env.from_collection(DATA).key_by(str).process(DivideKeyed()).print()
        if policy == "dead-letter":
            env.dead_letters().print()
        return env.explain()

    plain, guarded = build("fail"), build("dead-letter")
    (line,) = (line for line in plain.splitlines() if "KEYED PROCESS" in line)
    (with_letters,) = (line for line in guarded.splitlines() if "KEYED PROCESS" in line)
    uid = line.split("uid ")[1].split(",")[0]
    assert f"uid {uid}," in with_letters
    assert "on error: dead letter" in with_letters
    assert "on error" not in plain
