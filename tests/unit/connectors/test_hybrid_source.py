"""Sources one after the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scurry.common import Duration, Time, WatermarkStrategy
from scurry.common.errors import ProgramError
from scurry.common.watermark_strategy import TimestampAssigner
from scurry.connectors.collection import CollectionSource
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.connectors.datagen import DataGeneratorSource
from scurry.datastream.connectors.file_system import FileSource, StreamFormat
from scurry.datastream.connectors.hybrid_source import HybridSource
from scurry.datastream.connectors.number_seq import NumberSequenceSource
from scurry.datastream.window import TumblingEventTimeWindows
from scurry.testing import collect_local


class Stamp(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


@pytest.mark.parametrize("cuts", [None, 1, 3])
def test_one_after_the_other(tmp_path: Path, cuts: int | None) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("".join(f"{name} {number}\n" for number in range(3)))
    history = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), str(tmp_path)
    ).build()
    env = StreamExecutionEnvironment.get_execution_environment()
    source = HybridSource.builder(history).add_source(CollectionSource(["new 1", "new 2"])).build()
    assert source.bounded
    found = collect_local(env.from_source(source, None, "both"), cuts=cuts, restart=[1, 3])
    assert sorted(found[:6]) == sorted(
        (tmp_path / "a.txt").read_text().splitlines()
        + (tmp_path / "b.txt").read_text().splitlines()
    )
    assert found[6:] == ["new 1", "new 2"]


@pytest.mark.parametrize("cuts", [None, 2])
def test_sources_without_records_are_passed_over(cuts: int | None) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    empty = CollectionSource([])
    builder = HybridSource.builder(empty).add_source(CollectionSource([1, 2, 3]))
    source = builder.add_source(empty).add_source(NumberSequenceSource(4, 5)).build()
    assert collect_local(env.from_source(source, None, "some"), cuts=cuts) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("cuts", [None, 1, 4])
def test_the_watermark_goes_on_where_the_next_source_begins(cuts: int | None) -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(0)
    ).with_timestamp_assigner(Stamp())
    first, second = [1, 5, 12, 14], [13, 16, 25, 31]
    source = HybridSource.builder(CollectionSource(first)).add_source(CollectionSource(second))
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    windows = (
        env.from_source(source.build(), strategy, "times")
        .key_by(lambda _: "all")
        .window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
        .reduce(lambda a, b: a + b)
    )
    expected = [
        sum(value for value in first + second if value // 10 == decade) for decade in range(4)
    ]
    assert collect_local(windows, cuts=cuts) == expected


def test_only_the_last_source_may_go_on_for_ever() -> None:
    endless = DataGeneratorSource(lambda n: n, 10)
    endless.bounded = False
    with pytest.raises(ProgramError, match="never ends"):
        HybridSource.builder(endless).add_source(CollectionSource([1])).build()
    assert not HybridSource.builder(CollectionSource([1])).add_source(endless).build().bounded
    with pytest.raises(ProgramError, match=r"takes sources, got \[1\]"):
        HybridSource.builder([1])  # type: ignore[arg-type]
