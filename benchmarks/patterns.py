"""MATCH_RECOGNIZE beside Flink SQL: prices of 10 000 keys over time, in which patterns are rare.

``two_steps`` has one row in a hundred that can begin a match. ``falling`` looks at rows before the
row in question. ``counted`` aggregates the rows of a match in its condition. That the results are
Flink's is shown by scenarios of ``tests/sql``; here they go into nothing. The same patterns are
looked for with scurry.cep as well, with expressions and with Python functions as conditions.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from benchmarks._results import DATA, OUT, machine
from benchmarks.nexmark.__main__ import CONTENDERS, Contender, run_contender, show_times

#: SQL, and scurry.cep with both kinds of conditions. Spark has no MATCH_RECOGNIZE.
_WHO: dict[str, Contender] = {
    **{name: one for name, one in CONTENDERS.items() if name != "spark"},
    "scurry": ("nexmark_scurry", ("--form", "parquet"), "parquet", ""),
    "cep_expressions": ("patterns_scurry", ("--conditions", "expressions"), "parquet", ""),
    "cep_python": ("patterns_scurry", ("--conditions", "python"), "parquet", ""),
}
_KEYS = 10_000
_ROWS = 250_000
_CLAUSE = (
    "SELECT * FROM prices MATCH_RECOGNIZE (PARTITION BY k ORDER BY `dateTime` MEASURES {measures} "
    "AFTER MATCH SKIP PAST LAST ROW PATTERN ({pattern}) WITHIN INTERVAL '1' HOUR DEFINE {define})"
)
QUERIES = {
    "two_steps": _CLAUSE.format(
        measures="A.price AS a, B.price AS b",
        pattern="A B",
        define="A AS A.price < 10, B AS B.price > 500",
    ),
    "falling": _CLAUSE.format(
        measures="A.price AS a, LAST(B.price) AS b, COUNT(B.price) AS n",
        pattern="A B+ C",
        define="A AS A.price > 900, "
        "B AS B.price < LAST(B.price, 1) OR (LAST(B.price, 1) IS NULL AND B.price < A.price), "
        "C AS C.price > LAST(B.price)",
    ),
    "counted": _CLAUSE.format(
        measures="FIRST(A.price) AS a, COUNT(A.price) AS n",
        pattern="A+ B",
        define="A AS A.price > 800 AND SUM(A.price) < 3000, B AS B.price < 100",
    ),
}


def written(events: int, form: str) -> Path:
    """A directory with the rows; made only once."""
    place = DATA / f"prices_{events}_{form}"
    if place.exists():
        return place
    making = place.with_suffix(".making") / "prices"
    making.mkdir(parents=True, exist_ok=True)
    chance = np.random.default_rng(7)
    for number, first in enumerate(range(0, events, _ROWS)):
        count = min(_ROWS, events - first)
        # a row each millisecond
        times = 1_700_000_000_000 + first + np.arange(count)
        rows = pa.table(
            {
                "k": chance.integers(0, _KEYS, count),
                "price": chance.integers(0, 1000, count),
                "dateTime": pa.array(times, pa.timestamp("ms")),
            }
        )
        if form == "parquet":
            pq.write_table(rows, making / f"{number:05d}.parquet")
        else:
            with (making / "rows.csv").open("ab") as target:
                csv.write_csv(
                    rows, target, csv.WriteOptions(include_header=False, quoting_style="none")
                )
    making.parent.rename(place)
    return place


@click.command(help=__doc__)
@click.option("--events", default=4_000_000, show_default=True)
@click.option("--query", "only", multiple=True, type=click.Choice(list(QUERIES)))
@click.option("--contender", "who", multiple=True, type=click.Choice(list(_WHO)))
def main(events: int, only: tuple[str, ...], who: tuple[str, ...]) -> None:
    """Time the patterns."""
    texts = {name: text for name, text in QUERIES.items() if not only or name in only}
    found = {
        name: run_contender(
            name, texts, lambda form: written(events, form), "--prices", contenders=_WHO
        )
        for name in _WHO
        if not who or name in who
    }
    show_times(f"MATCH_RECOGNIZE, {events:,} rows, {machine()}: seconds", texts, found)
    OUT.mkdir(parents=True, exist_ok=True)
    written_to = OUT / "patterns_seconds.json"
    written_to.write_text(json.dumps({"events": events, "seconds": found}, indent=1))
    failed = any(isinstance(one, str) for times in found.values() for one in times.values())
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
