"""The benchmarks' input is what their documentation says it is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from benchmarks import _data


@pytest.fixture(autouse=True)
def _small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_data, "FILE_ROWS", 100)
    monkeypatch.setattr(_data, "GROUP_ROWS", 50)


def test_a_smaller_input_is_the_first_of_the_very_same_files(tmp_path: Path) -> None:
    whole = _data.parquet(tmp_path, 300, 10)
    part = _data.parquet(tmp_path, 200, 10)
    assert [file.name for file in sorted(part.iterdir())] == [
        "part-00000.parquet",
        "part-00001.parquet",
    ]
    for file in part.iterdir():
        assert file.samefile(whole / file.name)


def test_rows_number_consecutively_and_spread_over_all_keys(tmp_path: Path) -> None:
    rows = pq.read_table(_data.parquet(tmp_path, 200, 10)).to_pylist()
    assert [row["ts"] for row in rows] == list(range(200))
    assert {row["key"] for row in rows[:10]} == set(range(10))


@pytest.mark.parametrize("events", [200, 130, 40])
def test_csv_holds_the_same_rows(tmp_path: Path, events: int) -> None:
    directory = _data.csv(tmp_path, events, 10)
    lines = "".join(file.read_text() for file in sorted(directory.iterdir())).splitlines()
    rows = pq.read_table(_data.parquet(tmp_path, 200, 10)).to_pylist()[:events]
    assert lines == [f"{row['key']},{row['value']},{row['ts']}" for row in rows]


def test_small_files_hold_one_batch_each_in_as_many_groups_as_asked(tmp_path: Path) -> None:
    files = sorted(_data.small_files(tmp_path, 3, 10, 2, 5).iterdir())
    assert [pq.read_metadata(file).num_rows for file in files] == [10, 10, 10]
    assert [pq.read_metadata(file).num_row_groups for file in files] == [2, 2, 2]


@pytest.mark.parametrize(("events", "keys"), [(100, 10), (300, 7), (250, 1)])
def test_the_checksum_is_the_sum_of_all_running_counts(events: int, keys: int) -> None:
    counts: Counter[int] = Counter()
    total = 0
    for key in _data.keys_of(0, events, keys):
        counts[int(key)] += 1
        total += counts[int(key)]
    assert _data.checksum(events, keys) == total


def test_events_are_rounded_up_to_whole_files() -> None:
    assert [_data.whole_files(events) for events in (1, 100, 101)] == [100, 100, 200]
