"""NEXMark's tables as files: Parquet, and CSV for Flink, whose package reads no Parquet."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from scurry.connectors.nexmark import TABLES, NexmarkShape, rows_of
from scurry.connectors.nexmark.tables import rows_among

_ROWS = 200_000


def written(root: Path, events: int, shape: NexmarkShape, form: str) -> Path:
    """A directory with a directory of files for each table; made only once."""
    place = root / f"nexmark_{events}_{shape.events_per_second}_{shape.seed}_{form}"
    if place.exists():
        return place
    making = place.with_suffix(".making")
    shutil.rmtree(making, ignore_errors=True)
    for table in TABLES:
        (making / table).mkdir(parents=True)
        count = rows_among(table, events)
        for number, first in enumerate(range(0, count, _ROWS)):
            rows = rows_of(table, first, min(first + _ROWS, count), shape)
            if form == "parquet":
                pq.write_table(
                    pa.Table.from_batches([rows]), making / table / f"{number:05d}.parquet"
                )
            else:
                # Flink reads files of a directory in any order, so that all rows are in one
                with (making / table / "rows.csv").open("ab") as target:
                    plain = csv.WriteOptions(include_header=False, quoting_style="none")
                    csv.write_csv(rows, target, plain)
    making.rename(place)
    return place
