"""A cached stream is computed once, on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from scurry.common import WatermarkStrategy
from scurry.common.watermark_strategy import TimestampAssigner
from scurry.datastream import (
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.data_stream import DataStream

ODD = OutputTag("odd")


class Stamp(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return 1000 * int(value)


class Split(ProcessFunction):
    """Squares, with a note in a file for each element that it sees."""

    def __init__(self, seen: Path) -> None:
        self.seen = seen

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Any:
        with self.seen.open("a") as file:
            file.write(f"{value}\n")
        yield value * value
        if value % 2:
            yield ODD, value


class Times(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Any:
        yield value, ctx.timestamp()


def squares(env: StreamExecutionEnvironment, seen: Path) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Stamp())
    numbers = env.from_collection(list(range(10))).assign_timestamps_and_watermarks(strategy)
    return numbers.process(Split(seen)).name("squares")


def collected(stream: DataStream) -> list[Any]:
    return sorted(stream.execute_and_collect())


def test_later_jobs_read_what_the_first_has_kept(session: SparkSession, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    cached = squares(env, seen).cache()
    expected = [(n * n, 1000 * n) for n in range(10)]
    assert collected(cached.process(Times())) == expected
    assert len(seen.read_text().split()) == 10
    assert collected(cached.process(Times())) == expected
    assert collected(cached.map(lambda n: -n)) == sorted(-n * n for n in range(10))
    assert len(seen.read_text().split()) == 10

    # a side output belongs to the step itself, which has to run for it
    assert collected(cached.get_side_output(ODD)) == [1, 3, 5, 7, 9]
    assert len(seen.read_text().split()) == 20

    cached.invalidate()
    assert collected(cached) == [n * n for n in range(10)]
    assert len(seen.read_text().split()) == 30


def test_a_job_that_was_stopped_has_kept_nothing(session: SparkSession, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.get_configuration().set_string("scurry.batch.max-records", "2")
    cached = squares(env, seen).cache()
    assert cached.execute_and_collect(limit=1) == [0]
    assert collected(cached) == [n * n for n in range(10)]
