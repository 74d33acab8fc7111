"""A source that was unbounded when the job stopped and is bounded now, or the reverse, does what
the program says now: reads on from where it was, each record once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scurry.common import Duration
from scurry.common.errors import StateError
from scurry.connectors.files.enumerators import StaticFiles
from scurry.connectors.files.formats import StreamFormat
from scurry.connectors.files.positions import growing
from scurry.connectors.files.source import FileSource
from scurry.connectors.hybrid import HybridSource
from scurry.connectors.postgres.source import _Growing
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.connectors.number_seq import NumberSequenceSource
from scurry.functions.source import Source
from scurry.testing import ListSink, LocalJob

TEXT = StreamFormat.text_line_format()


def reading(source: Source, sink: ListSink, parallelism: int = 2) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    env.from_source(source, None, "lines").uid("lines").sink_to(sink)
    return env._compile(None)


def files(path: Path, watched: bool) -> FileSource:
    builder = FileSource.for_record_stream_format(TEXT, str(path))
    if watched:
        builder = builder.monitor_continuously(Duration.of_millis(0))
    return builder.build()


class Run:
    """A job that is driven until there is nothing to do."""

    def __init__(self, job: LocalJob, sink: ListSink) -> None:
        self.job, self.sink = job, sink

    def on(self) -> list[str]:
        before = len(self.sink.values)
        while self.job.step(2):
            pass
        return sorted(self.sink.values[before:])


def test_a_watched_directory_becomes_a_fixed_one_and_is_watched_again(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2\n3\n")
    sink = ListSink()
    with LocalJob(reading(files(tmp_path, True), sink)) as job:
        run = Run(job, sink)
        assert run.on() == ["1", "2", "3"]
        assert not job.done
        (tmp_path / "a").write_text("1\n2\n3\n4\n5\n6\n")
        (tmp_path / "b").write_text("7\n")
        job.continue_as(reading(files(tmp_path, False), sink))
        assert run.on() == ["4", "5", "6", "7"]
        assert job.done
        job.continue_as(reading(files(tmp_path, False), sink))
        assert job.done
        (tmp_path / "c").write_text("8\n")
        job.continue_as(reading(files(tmp_path, True), sink))
        assert run.on() == ["8"]
        (tmp_path / "d").write_text("9\n")
        assert run.on() == ["9"]
        assert not job.done


def test_a_fixed_set_of_files_may_be_watched_in_the_middle(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text("".join(f"{name}{n}\n" for n in range(5)))
    sink = ListSink()
    with LocalJob(reading(files(tmp_path, False), sink)) as job:
        job.step(4)
        read = len(sink.values)
        assert 0 < read < 15
        job.continue_as(reading(files(tmp_path, True), sink))
        Run(job, sink).on()
    assert sorted(sink.values) == [f"{name}{n}" for name in "abc" for n in range(5)]


def test_a_file_read_in_the_middle_cannot_be_watched(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("".join(f"{n:03d}\n" for n in range(100)))
    enumerator = StaticFiles([str(path)], TEXT, 2, 100)
    position = enumerator.plan(enumerator.initial_position(), 4).position
    with pytest.raises(StateError, match=r"a' was being read in parts.*then watch them"):
        growing(position, 2)


class Table:
    """What the source asks a database, answered from a list."""

    def __init__(self) -> None:
        self.rows: list[int] = []

    def highest(self) -> tuple[str | None, int]:
        return (str(max(self.rows)) if self.rows else None), 0

    def oldest_running(self) -> int:
        return 1

    def after(self, low: str | None, bound: str, count: int) -> str:
        above = sorted(row for row in self.rows if int(low or -1) < row <= int(bound))
        return str(above[:count][-1])

    def count(self, low: str | None, high: str | None) -> int:
        bound = int(high) if high is not None else max(self.rows, default=-1)
        return sum(int(low or -1) < row <= bound for row in self.rows)


def ranges(table: Any, position: Any, bounded: bool) -> tuple[list[Any], Any, bool]:
    enumerator = _Growing(table, None, 0.0, bounded)
    plan = enumerator.plan(json.loads(json.dumps(position)), 100)
    return [item.what for item in plan.ranges], plan.position, plan.finished


def test_rows_of_postgres_up_to_the_end_that_the_program_says_now() -> None:
    table = Table()
    table.rows = [1, 2, 3]
    position = _Growing(table, None, 0.0, False).initial_position()  # type: ignore[arg-type]
    read, position, finished = ranges(table, position, bounded=False)
    assert (read, finished) == ([[None, "3"]], False)
    table.rows += [4, 5]
    read, position, finished = ranges(table, position, bounded=True)
    assert (read, finished) == ([["3", "5"]], True)
    table.rows += [6]
    assert ranges(table, position, bounded=True)[::2] == ([], True)
    assert ranges(table, position, bounded=False)[::2] == ([["5", "6"]], False)


def test_a_hybrid_source_goes_on_with_sources_that_are_added() -> None:
    first, second = NumberSequenceSource(1, 3), NumberSequenceSource(4, 5)
    alone = HybridSource.builder(first).build()
    both = HybridSource.builder(first).add_source(second).build()
    sink = ListSink()
    with LocalJob(reading(alone, sink, 1)) as job:
        Run(job, sink).on()
        assert job.done
        job.continue_as(reading(alone, sink, 1))
        assert job.done
        job.continue_as(reading(both, sink, 1))
        Run(job, sink).on()
        assert job.done
        with pytest.raises(StateError, match="stands in source 2 of a HybridSource, which now has"):
            job.continue_as(reading(alone, sink, 1))
    assert sink.values == [1, 2, 3, 4, 5]
