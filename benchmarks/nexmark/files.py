"""NEXMark's tables as files: CSV, which all contenders read, and Parquet.

A table is dealt out to two files of CSV row by row, so that two tasks can read it and both are at
about the same time of the events. Parquet files have 200 000 rows each.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from scurry.connectors.nexmark import TABLES, NexmarkShape, rows_of
from scurry.connectors.nexmark.tables import rows_among

#: The table of fixed rows that query 13 joins.
SIDE = "side"
_SIDE_ROWS = 10_000
_ROWS = 200_000
_LANES = 2


def side_rows() -> pa.RecordBatch:
    """The rows of the table ``side``."""
    numbers = np.arange(_SIDE_ROWS)
    texts = [f"side-{number}" for number in numbers.tolist()]
    return pa.RecordBatch.from_arrays([pa.array(numbers), pa.array(texts)], ["id", "text"])


def written(root: Path, events: int, shape: NexmarkShape, form: str) -> Path:
    """A directory with a directory of files for each table; made only once."""
    place = root / f"nexmark_{events}_{shape.events_per_second}_{shape.seed}_{form}"
    if place.exists():
        return place
    making = place.with_suffix(".making")
    shutil.rmtree(making, ignore_errors=True)
    for table in (*TABLES, SIDE):
        (making / table).mkdir(parents=True)
        for number, rows in enumerate(_pieces(table, events, shape)):
            if form == "parquet":
                whole = pa.Table.from_batches([rows])
                pq.write_table(whole, making / table / f"{number:05d}.parquet")
            else:
                _append(rows, making / table)
    making.rename(place)
    return place


def _pieces(table: str, events: int, shape: NexmarkShape) -> Iterator[pa.RecordBatch]:
    if table == SIDE:
        yield side_rows()
        return
    count = rows_among(table, events)
    for first in range(0, count, _ROWS):
        yield rows_of(table, first, min(first + _ROWS, count), shape)


def _append(rows: pa.RecordBatch, directory: Path) -> None:
    plain = csv.WriteOptions(include_header=False, quoting_style="none")
    for lane in range(_LANES):
        mine = rows.take(pa.array(np.arange(lane, rows.num_rows, _LANES)))
        with (directory / f"{lane}.csv").open("ab") as target:
            csv.write_csv(mine, target, plain)
