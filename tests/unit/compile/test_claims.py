"""A changed program and the checkpoint of the program before it: what is taken over, refused,
dropped."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from scurry.checkpoint.claims import Standing, claim_state
from scurry.common import Configuration, Time, WatermarkStrategy
from scurry.common.errors import StateError
from scurry.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.connectors.number_seq import NumberSequenceSource
from scurry.datastream.functions import CheckpointedFunction
from scurry.datastream.state import ListStateDescriptor, ValueStateDescriptor
from scurry.datastream.window import TumblingEventTimeWindows
from scurry.testing import ListSink, LocalJob

DATA = [("a", 1), ("b", 2), ("a", 3), ("a", 4), ("b", 5), ("a", 6)]
STRATEGY = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    lambda event, _: event[1]
)
WINDOWS = TumblingEventTimeWindows.of(Time.milliseconds(100))


class Count(KeyedProcessFunction):
    """Counts, and sets a timer with each element."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(50 + value[1])
        yield value[0], self.count.value()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield "timer", timestamp


class Position(MapFunction, CheckpointedFunction):
    def initialize_state(self, context: Any) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("at"))
        self.number = sum(self.state.get())

    def map(self, value: Any) -> Any:
        self.number += 1
        return (*value, self.number)

    def snapshot_state(self, context: Any) -> None:
        self.state.update([self.number])


class Program:
    """A program under construction, and what it puts out."""

    def __init__(self, sink: ListSink | None = None, parallelism: int = 1) -> None:
        self.env = StreamExecutionEnvironment.get_execution_environment(
            Configuration.of({"state.backend": "memory"})
        ).set_parallelism(parallelism)
        self.sink = sink or ListSink()

    def events(self, uid: str = "events", data: list[Any] = DATA) -> DataStream:
        stream = self.env.from_collection(data).uid(uid)
        return stream.assign_timestamps_and_watermarks(STRATEGY)

    def ending(self, stream: DataStream) -> Any:
        stream.sink_to(self.sink)
        return self.env._compile(None)


def counting(uid: str, source: str = "events", sink: ListSink | None = None) -> Any:
    program = Program(sink)
    return program.ending(program.events(source).key_by(lambda e: e[0]).process(Count()).uid(uid))


def drain(job: LocalJob) -> None:
    while job.step(2):
        pass


@contextmanager
def after_two_batches(compiled: Any) -> Iterator[LocalJob]:
    with LocalJob(compiled) as job:
        job.step(2)
        job.step(2)
        yield job


def test_state_whose_uid_changed_is_refused() -> None:
    with after_two_batches(counting("count")) as job:
        with pytest.raises(StateError) as refusal:
            job.continue_as(counting("counts"))
        lines = str(refusal.value).splitlines()
        assert lines[0] == (
            "The checkpoint in memory holds state that no operator of this program takes over:"
        )
        assert lines[1].startswith("  - 'KEYED PROCESS' (uid 'count', ")
        assert lines[1].endswith("): ValueState 'count', timers of event time")
        assert "test_claims.py:" in lines[1]
        assert lines[2] == "New in this program, and perhaps the same under another uid:"
        assert lines[3].startswith("  - 'KEYED PROCESS' (uid 'counts', ")
        assert lines[4] == (
            "State belongs to the uid of its operator. Give the operator that it belongs to its "
            "uid again, for instance .uid('count'). Or drop this state for good: start with "
            "`scurry run --allow-dropped UID`, or with `--allow-non-restored-state` for all, or "
            "set execution.state-recovery.ignore-unclaimed-state to true."
        )


def test_state_that_may_be_dropped_is_dropped_for_good(caplog: pytest.LogCaptureFixture) -> None:
    """Also when the uid comes back: no counts, no timers."""
    sink = ListSink()
    with after_two_batches(counting("count", sink=sink)) as job:
        with caplog.at_level(logging.WARNING, "scurry.checkpoint"):
            job.continue_as(counting("new", sink=sink), allow_non_restored_state=True)
        assert "takes it over: 'KEYED PROCESS' (uid 'count', " in caplog.text
        job.step(1)
        assert sink.values[4:] == [("b", 1)]
        with pytest.raises(StateError, match="uid 'new'"):
            job.continue_as(counting("count", sink=sink))
        job.continue_as(counting("count", sink=sink), allow_non_restored_state=True)
        drain(job)
        assert sink.values[5:] == [("a", 1), ("timer", 56)]


def test_leave_to_drop_state_can_be_given_by_uid() -> None:
    sink = ListSink()
    with after_two_batches(counting("count", sink=sink)) as job:
        changed = counting("new", "others", sink)
        with pytest.raises(StateError) as refusal:
            job.continue_as(changed, allow_dropped=["count", "unknown"])
        assert "(uid 'events'" in str(refusal.value)
        assert "(uid 'count'" not in str(refusal.value)
        job.continue_as(changed, allow_dropped=["count", "events"])
        job.step(1)
        assert sink.values[4:] == [("a", 1)], "from the beginning, with nothing counted"


def test_a_source_whose_uid_changed_is_refused_and_with_leave_begins_anew() -> None:
    sink = ListSink()
    with after_two_batches(counting("count", sink=sink)) as job:
        with pytest.raises(StateError, match=r"\(uid 'events', .*\): its position 4\n"):
            job.continue_as(counting("count", "others", sink))
        job.continue_as(counting("count", "others", sink), allow_non_restored_state=True)
        assert job.epoch().positions == {"others": 0}
        drain(job)
        assert job.done
        counts = [value for value in sink.values if value[0] != "timer"]
    # four elements of the old source, all six of the new one
    assert sorted(counts) == [("a", n) for n in range(1, 8)] + [("b", n) for n in range(1, 4)]


def test_a_source_that_had_ended_is_refused_too() -> None:
    def two(second: str, sink: ListSink) -> Any:
        program = Program(sink)
        short = program.env.from_collection(DATA[:1]).uid(second)
        short = short.assign_timestamps_and_watermarks(STRATEGY)
        return program.ending(program.events().union(short).map(lambda e: e[1]))

    sink = ListSink()
    with after_two_batches(two("short", sink)) as job:
        assert job.epoch().finished == ["short"]
        with pytest.raises(StateError, match="uid 'short'"):
            job.continue_as(two("brief", sink))
        job.continue_as(two("brief", sink), allow_non_restored_state=True)
        assert job.epoch().finished == []
        drain(job)
        assert job.done
    assert sorted(sink.values) == [1, 1, 1, 2, 3, 4, 5, 6]


def test_a_new_source_begins_at_its_beginning_and_time_does_not_go_back() -> None:
    def windows(more: bool, sink: ListSink) -> Any:
        program = Program(sink)
        events = program.events(data=[("a", 1), ("a", 150), ("a", 250), ("a", 260), ("a", 350)])
        if more:
            events = events.union(program.events("more", [("b", 20), ("b", 210), ("b", 400)]))
        keyed = events.key_by(lambda e: e[0]).window(WINDOWS)
        return program.ending(keyed.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("windows"))

    sink = ListSink()
    with LocalJob(windows(False, sink)) as job:
        job.step(2)
        job.step(1)
        assert sink.values == [("a", 1), ("a", 150)]
        job.continue_as(windows(True, sink))
        while job.step(1):
            pass
    # 20 is behind the watermark of 249, 210 is not: its window is open
    assert sorted(sink.values[2:]) == [("a", 350), ("a", 510), ("b", 210), ("b", 400)]


def test_operator_state_in_the_ingress_is_named_and_dropped() -> None:
    def numbered(uid: str, sink: ListSink) -> Any:
        program = Program(sink)
        return program.ending(program.events().map(Position()).uid(uid))

    sink = ListSink()
    with after_two_batches(numbered("at", sink)) as job:
        with pytest.raises(StateError, match=r"'Map' \(uid 'at', .*\): operator state 'at'\n"):
            job.continue_as(numbered("place", sink))
        job.continue_as(numbered("place", sink), allow_non_restored_state=True)
        assert job.epoch().operators.states == {}
        drain(job)
    assert [row[2] for row in sink.values] == [1, 2, 3, 4, 1, 2]


def test_state_of_another_kind_of_operator_is_refused_and_its_timers_never_fire() -> None:
    def windows(sink: ListSink) -> Any:
        program = Program(sink)
        keyed = program.events().key_by(lambda e: e[0]).window(WINDOWS)
        return program.ending(keyed.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("x"))

    sink = ListSink()
    with after_two_batches(windows(sink)) as job:
        with pytest.raises(StateError) as refusal:
            job.continue_as(counting("x", sink=sink))
        assert "windows" in str(refusal.value)
        reason = "it was kept as values by start of window, and now as keyed states of a function"
        assert reason in str(refusal.value)
        job.continue_as(counting("x", sink=sink), allow_non_restored_state=True)
        job.step(1)
        job.restart(lose_local_state=True)
        drain(job)
    assert sink.values == [("b", 1), ("a", 1), ("timer", 55), ("timer", 56)]


def test_a_source_of_another_class_cannot_read_the_position() -> None:
    def numbers(source: Any, sink: ListSink) -> Any:
        program = Program(sink)
        if source is None:
            return program.ending(program.env.from_collection([7, 8, 9]).uid("numbers"))
        stream = program.env.from_source(source, None, "numbers").uid("numbers")
        return program.ending(stream)

    sink = ListSink()
    with LocalJob(numbers(None, sink)) as job:
        job.step(2)
        sequence = numbers(NumberSequenceSource(1, 3), sink)
        reason = "kept as source CollectionSource, and now as source NumberSequenceSource"
        with pytest.raises(StateError, match=reason):
            job.continue_as(sequence)
        job.continue_as(sequence, allow_non_restored_state=True)
        drain(job)
    assert sink.values == [7, 8, 1, 2, 3]


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("pending", [False, True])
def test_state_follows_its_operator_into_another_stage(parallelism: int, pending: bool) -> None:
    """Two keyed levels are inserted before the count, and taken out again."""

    def counted(levels: int, sink: ListSink, parallelism: int) -> Any:
        program = Program(sink, parallelism)
        stream = program.events()
        for level in range(levels):
            stream = stream.key_by(lambda e: e[0]).map(lambda e: e).uid(f"level {level}")
        return program.ending(stream.key_by(lambda e: e[0]).process(Count()).uid("count"))

    sink = ListSink()
    with LocalJob(counted(0, sink, 1)) as job:
        job.step(2)
        if pending:
            # as if the driver had died after its sinks have committed
            assert job.plan_step(2)
        job.continue_as(counted(2, sink, parallelism))
        job.step(2)
        assert job.epoch().inventory["count"].stages == [3]
        job.continue_as(counted(0, sink, 1))
        drain(job)
        assert job.epoch().inventory["count"].stages == [1]
    counts = [row for row in sink.values if row[0] != "timer"]
    assert sorted(counts) == [("a", 1), ("a", 2), ("a", 3), ("a", 4), ("b", 1), ("b", 2)]
    timers = [row for row in sink.values if row[0] == "timer"]
    assert sorted(timers) == [("timer", 50 + time) for _, time in DATA]


def test_operator_state_does_not_move_between_the_ingress_and_stages() -> None:
    def numbered(apart: bool, sink: ListSink) -> Any:
        program = Program(sink)
        events = program.events()
        stream = events.rebalance() if apart else events
        return program.ending(stream.map(Position()).uid("position"))

    with after_two_batches(numbered(False, ListSink())) as job:
        lies = "uid 'position', .*it lies in the ingress, and the operator now runs in stage 1"
        with pytest.raises(StateError, match=lies):
            job.continue_as(numbered(True, ListSink()))


def reducing(*functions: Any, uids: tuple[str | None, ...] = ()) -> Any:
    program = Program()
    events = program.events().uid("watermarks").key_by(lambda e: e[0])
    for number, function in enumerate(functions):
        reduced = events.reduce(function)
        if number < len(uids) and uids[number] is not None:
            reduced = reduced.uid(uids[number])
        reduced.sink_to(ListSink())
    return program.env._compile(None)


def least(one: Any, other: Any) -> Any:
    return min(one, other)


FIRST, SECOND = (lambda a, b: a), (lambda a, b: (a[0], a[1] + b[1]))


def test_another_number_of_twins_is_refused_until_they_have_uids() -> None:
    with after_two_batches(reducing(FIRST, SECOND)) as job:
        one, two = (uid for uid in job.epoch().inventory if uid.startswith("reduce"))
        for changed in (reducing(FIRST), reducing(FIRST, FIRST, SECOND)):
            with pytest.raises(StateError) as refusal:
                job.continue_as(changed, allow_non_restored_state=True)
            lines = str(refusal.value).splitlines()
            assert lines[0] == (
                "The checkpoint in memory holds state of operators that have no uid of their own "
                "and cannot be told apart:"
            )
            assert lines[1].startswith(f"  - 'Reduce' (uid '{one}', ")
            assert lines[-1] == (
                "Nobody can know whose state is whose. Give each of those that were there before "
                f"its uid, such as .uid('{one}')."
            )
        job.continue_as(reducing(FIRST, FIRST, SECOND, uids=(one, None, two)))
        assert f"{one}-3" in job.epoch().inventory


def test_twins_that_changed_places_are_noticed_by_their_code() -> None:
    with after_two_batches(reducing(FIRST, SECOND)) as job:
        with pytest.raises(StateError, match="or in another order"):
            job.continue_as(reducing(SECOND, FIRST))
        # a function that is mended is no other operator
        job.continue_as(reducing(FIRST, lambda a, b: (a[0], b[1])))


def test_named_functions_are_no_twins() -> None:
    with after_two_batches(reducing(least, FIRST)) as job:
        job.continue_as(reducing(FIRST, max, least))


class FileLike(ListSink):
    known_by_uid = True
    keeps_back = "records of files that are not complete"


class Marked(ListSink):
    known_by_uid = True


def writing(sink: ListSink, uid: str) -> Any:
    program = Program(sink)
    program.events().uid("watermarks").sink_to(sink).uid(uid)
    return program.env._compile(None)


def test_a_sink_that_keeps_records_back_is_not_left_out_silently() -> None:
    with after_two_batches(writing(FileLike(), "out")) as job:
        left = r"'FileLike: Writer' \(uid 'out', .*\): records of files that are not complete"
        with pytest.raises(StateError, match=left):
            job.continue_as(writing(FileLike(), "other"))


def test_a_sink_is_missed_only_if_it_may_have_written_what_is_run_again() -> None:
    with after_two_batches(writing(Marked(), "out")) as job:
        changed = writing(Marked(), "other").spec
        claim_state(changed, Standing("here", job.epoch(), 2), False)
        with pytest.raises(StateError, match="micro-batch 2, which may have been written, and is"):
            claim_state(changed, Standing("here", job.epoch(), 2, pending=True), False)


def test_a_checkpoint_that_knows_positions_only_is_compared_by_them() -> None:
    with after_two_batches(counting("count")) as job:
        epoch = job.epoch()
        epoch.inventory = {}
        claim_state(counting("counts").spec, Standing("here", epoch, 2), False)
        with pytest.raises(StateError, match=r"'events' \(uid 'events'\): its position 4"):
            claim_state(counting("count", "others").spec, Standing("here", epoch, 2), False)
