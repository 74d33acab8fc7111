"""Sinks of two drivers: the one that was taken for dead wakes up at the worst moments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scurry.common import Encoder
from scurry.common.errors import LeaseLostError, OtherHistoryError
from scurry.connectors.delta import DeltaSink
from scurry.connectors.delta_commits import DeltaCommits
from scurry.connectors.files.buckets import BucketAssigner
from scurry.connectors.files.committer import FileCommitter
from scurry.connectors.files.manifest import ManifestFile
from scurry.connectors.files.rolling import RollingPolicy
from scurry.connectors.files.sink import FileSink
from scurry.functions.fencing import Fence
from scurry.functions.history import Branch, History
from scurry.functions.sink import CommitterContext, Records, Sink, WriterContext


class Leases:
    """The leases of one checkpoint, of which the last one given out counts."""

    def __init__(self) -> None:
        self.last = 0

    def next(self) -> Fence:
        self.last += 1
        return _Lease(self, self.last)


class _Lease(Fence):
    def __init__(self, leases: Leases, epoch: int) -> None:
        self.leases, self.epoch = leases, epoch

    def check(self) -> None:
        if self.leases.last > self.epoch:
            raise LeaseLostError("taken over")


class _Rows:
    """Records as a writer gets them."""

    columns = ts = kinds = None

    def __init__(self, rows: list[Any]) -> None:
        self.rows = rows


def message(sink: Sink, *rows: Any) -> Any:
    writer = sink.create_writer(WriterContext("sink", 0, 1))
    records: Records = _Rows(list(rows))
    writer.write_records(records, 0)
    return writer.prepare()


class Driver:
    """The driver's half of a sink."""

    def __init__(self, sink: Sink, lease: Fence, last: int = -1) -> None:
        self.sink, self.lease = sink, lease
        self.history = History([Branch("a" * 15, 0)], last + 1, last)
        sink.start(CommitterContext("sink", "checkpoint", self.history, lease))
        found = sink.committed_mark()
        assert found is None or self.history.holds(found)

    def run(self, batch: int, *rows: Any) -> None:
        self.history.planned = batch
        self.sink.commit(batch, [message(self.sink, *rows)])


def file_sink(base: Path, rolling: RollingPolicy | None = None) -> FileSink:
    builder = FileSink.for_row_format(str(base), Encoder.simple_string_encoder())
    builder.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    return builder.with_rolling_policy(
        rolling or RollingPolicy.on_checkpoint_rolling_policy()
    ).build()


def lines(base: Path) -> list[str]:
    parts = [path for path in base.rglob("*") if path.is_file() and ".scurry" not in path.parts]
    return sorted(line for path in parts for line in path.read_text().split())


LATE = RollingPolicy.default_rolling_policy(1 << 30, 1 << 40, 1 << 40)


def interrupt(
    monkeypatch: pytest.MonkeyPatch, owner: type, method: str, once: Callable[[], None]
) -> None:
    """Have ``once`` happen just before the next call of a method."""
    original = getattr(owner, method)

    def called(self: Any, *arguments: Any, **named: Any) -> Any:
        monkeypatch.setattr(owner, method, original)
        once()
        return original(self, *arguments, **named)

    monkeypatch.setattr(owner, method, called)


MOMENTS = [(FileCommitter, "_prepare"), (FileCommitter, "_save"), (ManifestFile, "save")]


@pytest.mark.parametrize(("owner", "method"), MOMENTS)
def test_files_of_a_driver_that_was_paused_before_its_batch_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: type, method: str
) -> None:
    leases = Leases()
    first = Driver(file_sink(tmp_path), leases.next())
    first.sink.recover(0)
    first.run(0, "a")

    def another() -> None:
        second = Driver(file_sink(tmp_path), leases.next(), 0)
        second.sink.recover(1)
        second.run(1, "b")
        second.run(2, "c")

    interrupt(monkeypatch, owner, method, another)
    with pytest.raises(LeaseLostError):
        first.run(1, "b")
    first.sink.close()
    assert lines(tmp_path) == ["a", "b", "c"]


def test_files_of_a_driver_that_was_paused_before_it_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch counts, and the next driver publishes it; publishing it again changes nothing."""
    leases = Leases()
    first = Driver(file_sink(tmp_path), leases.next())
    first.sink.recover(0)
    seconds: list[Driver] = []

    def another() -> None:
        second = Driver(file_sink(tmp_path), leases.next())
        seconds.append(second)
        second.sink.recover(0)
        second.run(0, "a")

    interrupt(monkeypatch, FileCommitter, "_publish", another)
    first.run(0, "a")
    assert lines(tmp_path) == ["a"]
    first.sink.close()
    seconds[0].run(1, "b")
    seconds[0].sink.close()
    assert lines(tmp_path) == ["a", "b"]
    third = Driver(file_sink(tmp_path), leases.next(), 1)
    third.sink.recover(2)
    third.run(2, "c")
    assert lines(tmp_path) == ["a", "b", "c"]


@pytest.mark.parametrize("moment", ["roll", "close"])
def test_what_waits_to_be_published_belongs_to_the_next_driver(tmp_path: Path, moment: str) -> None:
    leases = Leases()
    first = Driver(file_sink(tmp_path, LATE), leases.next())
    first.sink.recover(0)
    first.run(0, "a")
    second = Driver(file_sink(tmp_path, LATE), leases.next(), 0)
    second.sink.recover(1)
    if moment == "close":
        first.sink.close()
    else:
        assert isinstance(first.sink, FileSink)
        committer = first.sink._committer
        assert committer is not None
        committer.roll(final=True)
    assert lines(tmp_path) == []
    second.run(1, "b")
    second.sink.close()
    assert lines(tmp_path) == ["a", "b"]


def test_a_driver_paused_before_it_enters_does_not_keep_the_other_out(tmp_path: Path) -> None:
    leases = Leases()
    first = Driver(file_sink(tmp_path), leases.next())
    second = Driver(file_sink(tmp_path), leases.next())
    second.sink.recover(0)
    with pytest.raises(LeaseLostError):
        first.sink.recover(0)
    second.run(0, "a")
    assert lines(tmp_path) == ["a"]


def rows_of(path: Path) -> list[int]:
    from deltalake import DeltaTable

    found: list[int] = DeltaTable(str(path)).to_pyarrow_table().column("f0").to_pylist()
    return sorted(found)


@pytest.mark.parametrize("there", [True, False], ids=["table", "no table yet"])
@pytest.mark.parametrize("method", ["table", "properties"])
def test_a_delta_table_of_which_a_paused_driver_has_read_the_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool, method: str
) -> None:
    leases, path = Leases(), str(tmp_path / "table")
    first = Driver(DeltaSink(path), leases.next())
    first.sink.recover(0)
    last = -1
    if there:
        first.run(0, (0,))
        last = 0

    def another() -> None:
        second = Driver(DeltaSink(path), leases.next(), last)
        second.sink.recover(last + 1)
        second.run(last + 1, (1,))
        second.run(last + 2, (2,))

    interrupt(monkeypatch, DeltaCommits, method, another)
    with pytest.raises(LeaseLostError):
        first.run(last + 1, (1,))
    assert rows_of(tmp_path / "table") == ([0, 1, 2] if there else [1, 2])


def test_a_copy_of_the_checkpoint_that_has_taken_the_target(tmp_path: Path) -> None:
    """It has leases of its own, with greater numbers."""
    mine, copies = Leases(), Leases()
    for _ in range(4):
        copies.next()
    here = Driver(file_sink(tmp_path), mine.next())
    here.sink.recover(0)
    here.run(0, "a")
    prepared = message(here.sink, "b")
    there = Driver(file_sink(tmp_path), copies.next(), 0)
    there.sink.recover(1)
    with pytest.raises(OtherHistoryError, match="somebody runs a copy of the checkpoint"):
        here.sink.commit(1, [prepared])
    # started again, it takes the target back
    again = Driver(file_sink(tmp_path), mine.next(), 0)
    again.sink.recover(1)
    again.run(1, "b")
    assert lines(tmp_path) == ["a", "b"]
