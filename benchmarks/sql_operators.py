"""Single operators of SQL beside Flink's: a group aggregate, a tumbling window, a join of streams.

``group`` sends every change, ``group_net`` has mini-batches. ``tumble`` is a window by a table
function; ``tumble_stream`` is the same as a program of streams, which only Scurry runs. ``join``
has each key once on either side. Rates count the rows that are read, of both inputs of the join,
from the statement to its end, with the start of the job. Every contender writes into nothing.
With ``--turns`` each operator runs so many times in one process, in this order and in the other by
turns, and rates are medians: what is first in a process is slower, whatever it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import click
import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from benchmarks._results import DATA, OUT, machine
from benchmarks.nexmark.__main__ import Contender, run_contender, show_times

_WHO: dict[str, Contender] = {
    "scurry": ("sql_operators_scurry", ("--form", "parquet"), "parquet", ""),
    "flink_rocksdb": (
        "nexmark_pyflink",
        ("--backend", "rocksdb"),
        "csv",
        "SCURRY_PYFLINK_PYTHON",
    ),
    "flink_heap": ("nexmark_pyflink", (), "csv", "SCURRY_PYFLINK_PYTHON"),
}
_KEYS = 10_000
_ROWS = 250_000
_GROUP = "SELECT k, COUNT(*) AS n, SUM(v) AS s FROM numbers GROUP BY k"
QUERIES = {
    "group": _GROUP,
    "group_net": f"-- mini-batch\n{_GROUP}",
    "tumble": "SELECT k, COUNT(*) AS n, SUM(v) AS s, window_start FROM TABLE(TUMBLE(TABLE numbers, "
    "DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND)) GROUP BY k, window_start, window_end",
    "tumble_stream": "-- stream",
    "join": "SELECT a.id, a.v, b.v AS w FROM numbers AS a JOIN others AS b ON a.id = b.id",
}


def written(events: int, form: str) -> Path:
    """A directory with the rows of both tables; made only once."""
    place = DATA / f"numbers_{events}_{form}"
    if place.exists():
        return place
    making = place.with_suffix(".making")
    for name, step in (("numbers", 7919), ("others", 104_729)):
        (making / name).mkdir(parents=True, exist_ok=True)
        for number, rows in enumerate(_pieces(events, step)):
            if form == "parquet":
                pq.write_table(rows, making / name / f"{number:05d}.parquet")
            else:
                with (making / name / "rows.csv").open("ab") as target:
                    csv.write_csv(rows, target, csv.WriteOptions(include_header=False))
    making.rename(place)
    return place


def _pieces(events: int, step: int) -> Iterator[pa.Table]:
    """A row each millisecond. ``step`` has no factor in common with a stretch of rows, so that in
    each stretch every id occurs once, in another order."""
    for first in range(0, events, _ROWS):
        at = first + np.arange(min(_ROWS, events - first))
        yield pa.table(
            {
                "id": first + (at - first) * step % len(at),
                "k": at * 7919 % _KEYS,
                "v": at % 1000,
                "ms": 1_700_000_000_000 + at,
                "dateTime": pa.array(1_700_000_000_000 + at, pa.timestamp("ms")),
            }
        )


@click.command(help=__doc__)
@click.option("--events", default=10_000_000, show_default=True, help="rows of each table")
@click.option("--query", "only", multiple=True, type=click.Choice(list(QUERIES)))
@click.option("--contender", "who", multiple=True, type=click.Choice(list(_WHO)))
@click.option("--turns", default=1, show_default=True)
def main(events: int, only: tuple[str, ...], who: tuple[str, ...], turns: int) -> None:
    """Time the operators."""
    chosen = [name for name in QUERIES if not only or name in only]
    texts = _by_turns(chosen, turns)
    found = {
        name: run_contender(
            name, texts, lambda form: written(events, form), "--numbers", contenders=_WHO
        )
        for name in _WHO
        if not who or name in who
    }
    show_times(f"SQL operators, {events:,} rows a table, {machine()}: seconds", texts, found)
    for name, seconds in found.items():
        for query in chosen:
            times = [seconds.get(f"{query}_{turn}", seconds.get(query)) for turn in range(turns)]
            measured = [time for time in times if isinstance(time, float)]
            if measured:
                rows = events * (2 if query == "join" else 1)
                print(f"{name:<14} {query:<14} {rows / median(measured):>12,.0f} rows/s")
    OUT.mkdir(parents=True, exist_ok=True)
    kept = json.dumps({"events": events, "seconds": found}, indent=1)
    (OUT / "sql_operators.json").write_text(kept)


def _by_turns(chosen: list[str], turns: int) -> dict[str, str]:
    """What is to be run, in order: each operator once, or ``turns`` times under numbered names."""
    if turns == 1:
        return {name: QUERIES[name] for name in chosen}
    return {
        f"{name}_{turn}": QUERIES[name]
        for turn in range(turns)
        for name in (chosen if turn % 2 == 0 else reversed(chosen))
    }


if __name__ == "__main__":
    main()
