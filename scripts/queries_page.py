"""Write docs/reference/sql-queries.md, what SQL queries can do, from the table of gaps.

Usage:
    python scripts/queries_page.py           (what `make docs` runs)
"""

from __future__ import annotations

import sys
from pathlib import Path

from scurry.planner.gaps import GAPS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "sql-queries.md"

INTRODUCTION = """\
<!-- Written by scripts/queries_page.py from src/scurry/planner/gaps.py; do not edit. -->

# SQL queries

Queries are written in Flink's dialect. Each of these is planned, and sends the changes that Flink
sends:

| | |
|---|---|
{supported}

Windows of TIMESTAMP_LTZ, and of processing time, are in the time of `table.local-time-zone`:
`window_start` and `window_end` are what clocks show there, and a day is one of that zone. Where
clocks are set back, what happened in either of the two equal hours is in the same windows.

`FOR SYSTEM_TIME AS OF` an event time finds the versions of a NULL key, as in Flink; in all other
joins NULL equals nothing.

Four things are not as in Flink. Several calls with OVER in one SELECT may have different windows.
In a top-N whose bound is a column each row is kept or left out by its own bound. A lateral
aggregate of no rows is a row, as in the SQL standard; Flink loses the row it belongs to. And an
inner query with OR between conditions on the query around it is computed for rows whose columns are
NULL as well; Flink has been seen to lose such rows.

A query that means nothing is refused when it is planned, with its place in the text and the nearest
names. So are these, which Scurry does not run:

| what | instead |
|---|---|
{gaps}
"""
SUPPORTED = {
    "rows": "projection, filter, expressions, `UNNEST`, `LATERAL TABLE`, `VALUES`, `UNION ALL`, "
    "views, `WITH`",
    "windows": "`TUMBLE`, `HOP`, `CUMULATE`, `SESSION` of tables and in `GROUP BY`; top-N, joins "
    "of windows; aggregates of windows also where the table is updated",
    "groups": "`GROUP BY`, `HAVING`, `DISTINCT`, `FILTER`, grouping sets, `ROLLUP`, `CUBE`, "
    "aggregates of aggregates",
    "joins": "inner, left, right, full, cross; in an interval of time; `FOR SYSTEM_TIME AS OF`; "
    "`IN`, `EXISTS`, scalar queries",
    "order": "top-N and deduplication by `ROW_NUMBER`, `QUALIFY`, `ORDER BY` with `LIMIT` or by "
    "event time, `OVER`",
    "patterns": "`MATCH_RECOGNIZE` with `ONE ROW PER MATCH`",
    "changes": "`TO_CHANGELOG`, `FROM_CHANGELOG`",
    "sets": "`UNION`, `INTERSECT`, `EXCEPT`, each also with `ALL`",
    "hints": "`OPTIONS`, `STATE_TTL`, `LOOKUP`; hints that choose between ways to join are "
    "accepted and change nothing",
}


def page() -> str:
    """The whole page."""
    rows = sorted(GAPS.values(), key=lambda gap: gap.what.lower())
    return INTRODUCTION.format(
        supported="\n".join(f"| {name} | {what} |" for name, what in SUPPORTED.items()),
        gaps="\n".join(f"| {gap.what} | {gap.instead} |" for gap in rows),
    )


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
