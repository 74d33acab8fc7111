"""What the engine promises to sources and sinks, seen from one of each."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from scurry.common import WatermarkStrategy
from scurry.common.errors import ProgramError
from scurry.common.watermark_strategy import TimestampAssigner
from scurry.datastream import StreamExecutionEnvironment
from scurry.functions.dead_letters import DEAD_LETTERS
from scurry.functions.sink import CommitterContext, Sink, SinkWriter, WriterContext
from scurry.functions.source import ReadPlan, ReadRange, Source, SourceBatch, SourceEnumerator
from scurry.testing import ListSink, LocalJob, collect_local, run_local


class Numbers(Source):
    """0 to 99; every seventh is rejected."""

    side_outputs = (DEAD_LETTERS,)

    def __init__(self) -> None:
        self.log: list[Any] = []

    def __getstate__(self) -> dict[str, Any]:
        return {"log": []}

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return Watching(self.log)

    def read(self, what: Any) -> Iterator[SourceBatch]:
        start, end = what
        rows = [n for n in range(start, end) if n % 7]
        bad = [f"bad {n}" for n in range(start, end) if n % 7 == 0]
        stamps = np.array(rows, dtype=np.int64)
        yield SourceBatch(rows=rows, timestamps=stamps, rejected=bad, bytes_read=10 * (end - start))


class Watching(SourceEnumerator):
    def __init__(self, log: list[Any]) -> None:
        self.log = log

    def initial_position(self) -> Any:
        return 0

    def plan(self, position: Any, max_records: int) -> ReadPlan:
        end = min(100, position + max_records)
        return ReadPlan(end, [ReadRange("0", [position, end])], finished=end == 100)

    def observed(self, records: int, bytes_read: int) -> None:
        self.log.append(("observed", records, bytes_read))

    def committed(self, position: Any) -> None:
        self.log.append(("committed", position))

    def gauges(self) -> dict[str, int]:
        return {"lag": 3}

    def close(self) -> None:
        self.log.append("closed")


def environment() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    return env


@pytest.mark.parametrize("cuts", [1, 30, None])
@pytest.mark.parametrize("strategy", [None, WatermarkStrategy.for_monotonous_timestamps()])
def test_what_a_source_rejects_comes_out_at_the_side(strategy: Any, cuts: int | None) -> None:
    env = environment()
    stream = env.from_source(Numbers(), strategy, "numbers")
    dead = ListSink()
    stream.get_side_output(DEAD_LETTERS).key_by(lambda text: text[:3]).map(str.upper).sink_to(dead)
    assert collect_local(stream, cuts, crash=[1], restart=[2]) == [n for n in range(100) if n % 7]
    assert dead.values == [f"BAD {n}" for n in range(0, 100, 7)]


def test_rejected_records_may_be_left_alone() -> None:
    stream = environment().from_source(Numbers(), None, "numbers")
    assert len(collect_local(stream)) == 85


def test_a_side_output_that_a_source_does_not_have() -> None:
    env = environment()
    env.from_collection([1]).get_side_output(DEAD_LETTERS).print()
    with pytest.raises(ProgramError, match="which has no side outputs"):
        env.explain()


def test_an_enumerator_learns_what_was_read_and_what_is_durable() -> None:
    env = environment()
    source = Numbers()
    env.from_source(source, None, "numbers").uid("n").sink_to(ListSink())
    with LocalJob(env._compile(None)) as job:
        while job.step(40):
            assert job.planner.gauges() == {"lag:n": 3}
    assert source.log == [
        ("observed", 40, 400), ("committed", 40),
        ("observed", 40, 400), ("committed", 80),
        ("observed", 20, 200), ("committed", 100),
        "closed",
    ]  # fmt: skip


class Recording(Sink):
    """Tells in which order it is called, and keeps elements with their timestamps."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.rows: list[Any] = []

    def __getstate__(self) -> dict[str, Any]:
        return {"calls": [], "rows": []}

    def start(self, context: CommitterContext) -> None:
        self.calls.append((context.uid, bool(context.checkpoint_id)))

    def recover(self, batch_id: int) -> None:
        self.calls.append(("recover", batch_id))

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return Timed()

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        self.calls.append(("commit", batch_id))
        self.rows += [row for message in messages for row in message]

    def close(self) -> None:
        self.calls.append("close")


class Timed(SinkWriter):
    def __init__(self) -> None:
        self.rows: list[Any] = []

    def write(self, rows: list[Any]) -> None:
        raise AssertionError("not called by the engine")

    def write_timed(self, rows: list[Any], timestamps: Any) -> None:
        stamps = [None] * len(rows) if timestamps is None else timestamps.tolist()
        self.rows += zip(rows, stamps, strict=True)

    def prepare(self) -> Any:
        rows, self.rows = self.rows, []
        return rows


class Thousand(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return 1000 + int(value)


def test_a_sink_is_started_recovered_committed_and_closed() -> None:
    env = environment()
    sink = Recording()
    env.from_collection([1, 2, 3]).sink_to(sink).uid("out")
    run_local(env, cuts=2)
    assert sink.calls == [
        ("out", True),
        ("recover", 0),
        ("commit", 0),
        ("commit", 1),
        "close",
    ]
    assert sink.rows == [(1, None), (2, None), (3, None)]


def test_writers_see_timestamps() -> None:
    env = environment()
    sink = Recording()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Thousand())
    env.from_collection([1, 2]).assign_timestamps_and_watermarks(strategy).sink_to(sink)
    run_local(env)
    assert sink.rows == [(1, 1001), (2, 1002)]
    assert pickle.loads(pickle.dumps(sink)).rows == []
