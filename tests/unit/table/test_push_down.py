"""What a query does not need of files is not read: columns, row groups, partitions.

The data of what must not be read is overwritten, while the ends of the files stay as they are: who
reads it fails.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scurry.common.errors import ScurryError
from scurry.table import EnvironmentSettings, TableEnvironment
from scurry.testing.tables import changes_of_table


def write(path: Path, first: int) -> None:
    """Three row groups of ten rows: a counts up from ``first``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers = list(range(first, first + 30))
    columns = {
        "a": pa.array(numbers, pa.int32()),
        "b": [f"text {n:03}" for n in numbers],
        "c": pa.array([None if n % 10 < 5 else n * 1.5 for n in numbers], pa.float64()),
    }
    table = pa.table(columns)
    pq.write_table(table, path, row_group_size=10, compression="none", use_dictionary=False)


def damage(path: Path, group: int, column: int | None = None) -> None:
    """Overwrite the data of a row group, or of one of its columns."""
    found = pq.ParquetFile(path).metadata.row_group(group)
    data = bytearray(path.read_bytes())
    for at in range(found.num_columns) if column is None else [column]:
        chunk = found.column(at)
        start = chunk.data_page_offset
        data[start : start + chunk.total_compressed_size] = b"\xff" * chunk.total_compressed_size
    path.write_bytes(bytes(data))


def rows(directory: Path, query: str, *, keys: str = "", batch: bool = False) -> list[object]:
    settings = EnvironmentSettings.in_batch_mode() if batch else None
    env = TableEnvironment.create(settings or EnvironmentSettings.in_streaming_mode())
    columns = "a INT, b STRING, c DOUBLE" + (", dt STRING, n INT" if keys else "")
    env.execute_sql(
        f"CREATE TABLE t ({columns}) {keys} WITH ('connector' = 'filesystem', "
        f"'format' = 'parquet', 'path' = '{directory}')"
    )
    found = (tuple(values) for _, *values in changes_of_table(env.sql_query(query)))
    return sorted(found, key=repr)


@pytest.mark.parametrize("batch", [False, True])
def test_row_groups_and_columns(tmp_path: Path, batch: bool) -> None:
    path = tmp_path / "t" / "one.parquet"
    write(path, 0)
    damage(path, 1)
    damage(path, 2, column=1)
    found = rows(tmp_path / "t", "SELECT a FROM t WHERE a > 25", batch=batch)
    assert found == [(26,), (27,), (28,), (29,)]
    found = rows(tmp_path / "t", "SELECT b FROM t WHERE a = 3 OR a BETWEEN 5 AND 6", batch=batch)
    assert found == [("text 003",), ("text 005",), ("text 006",)]
    found = rows(tmp_path / "t", "SELECT a FROM t WHERE b IN ('text 001') AND c IS NULL")
    assert found == [(1,)]
    assert rows(tmp_path / "t", "SELECT a FROM t WHERE 100 < a") == []
    with pytest.raises((ScurryError, OSError)):
        rows(tmp_path / "t", "SELECT a FROM t WHERE a > 15")


def test_partitions(tmp_path: Path) -> None:
    keys = "PARTITIONED BY (dt, n)"
    for day, n, first in (("mon", 1, 0), ("mon", 2, 100), ("tue", 1, 200)):
        path = tmp_path / "t" / f"dt={day}" / f"n={n}" / "one.parquet"
        write(path, first)
        if (day, n) != ("mon", 2):
            damage(path, 0)
    query = "SELECT a, n FROM t WHERE dt = 'mon' AND n > 1 AND a < 102"
    assert rows(tmp_path / "t", query, keys=keys) == [(100, 2), (101, 2)]
    query = "SELECT dt, COUNT(*) FROM t WHERE n = 2 GROUP BY dt"
    assert rows(tmp_path / "t", query, keys=keys, batch=True) == [("mon", 30)]


def test_a_partition_column_is_read_alone(tmp_path: Path) -> None:
    keys = "PARTITIONED BY (dt, n)"
    write(tmp_path / "t" / "dt=mon" / "n=1" / "one.parquet", 0)
    write(tmp_path / "t" / "dt=__DEFAULT_PARTITION__" / "n=1" / "one.parquet", 0)
    query = "SELECT DISTINCT dt FROM t WHERE n <> 2"
    found = rows(tmp_path / "t", query, keys=keys, batch=True)
    assert sorted(map(str, found)) == ["('mon',)", "(None,)"]
