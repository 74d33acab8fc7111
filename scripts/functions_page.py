"""Write docs/reference/sql-functions.md, the page of all functions, from their catalogue.

Usage:
    python scripts/functions_page.py           (what `make docs` runs)
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from scurry.functions.builtin import BUILT_INS, BuiltIn, Status

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "sql-functions.md"

TITLES = {
    "comparison": "Comparison",
    "logical": "Logic",
    "arithmetic": "Numbers",
    "string": "Texts",
    "temporal": "Dates and times",
    "conditional": "Choosing",
    "conversion": "Conversion",
    "collection": "Arrays, maps and rows",
    "json": "JSON",
    "hash": "Hashes",
    "aggregate": "Aggregates, and functions with OVER",
    "window": "Windows",
    "other": "Others",
}

INTRODUCTION = """\
<!-- Written by scripts/functions_page.py from src/scurry/functions/builtin; do not edit. -->

# SQL functions

Every function and operator of Flink's reference, and whether Scurry has it: {supported} of {all}
are supported. Each supported one gives the values and types that Flink gives; the tests compare
them with Flink's own (`tests/sql/functions`). A function that is not supported is refused when a
query is planned, with the reason that stands here.

What is different from Flink:

- Regular expressions are Python's, translated where the two differ. `&&` in classes, `\\p` of
  scripts and `\\G` are refused as wrong patterns.
- `EXTRACT`, and casts from TIMESTAMP to DATE, give what the calendar says before 1970 as well,
  where Flink is a day or an hour off.
- Timestamps of more than six digits of a second reach from 1677 to 2262.
- An array's element, or a map's value, that does not exist is NULL, also where the elements are NOT
  NULL; there Flink gives -1 for numbers.
- `CURRENT_TIMESTAMP` and its relatives give the time of the micro-batch, one for all its rows, so
  that a micro-batch that is run again computes the same. In batch mode it is the query's start.
- Two values of the type VARIANT are equal where they say the same; in Flink the order of keys
  matters, and 1 is not 1.0. An object within an object can be taken out, where Flink may give NULL.
  A VARIANT reaches Python as its JSON. No column of a table can be declared as VARIANT.
- `ARRAY_AGG` of values that are NOT NULL, and `LAG` and `LEAD` with a default that is, have a
  nullable type, because they are NULL where there is no row, or the row there is of a NULL. Flink
  declares them NOT NULL, and a query fails when it meets that NULL.
- In batch mode a column of window times keeps its mark as a time attribute, which Flink takes away.
- `SUM0` can be called by that name too; Flink's SQL has `$SUM0` alone.
- `PRINTF` knows the conversions `s d x o f e g c b n %`.
"""


def page() -> str:
    """The whole page."""
    counts = Counter(entry.status for entry in BUILT_INS)
    head = INTRODUCTION.format(supported=counts[Status.SUPPORTED], all=len(BUILT_INS))
    return "\n".join([head, *(_section(family) for family in TITLES)])


def _section(family: str) -> str:
    entries = [entry for entry in BUILT_INS if entry.family == family]
    lines = [f"## {TITLES[family]}", "", "| function | gives | |", "|---|---|---|"]
    lines += [f"| {_code(_syntax(e))} | {_cell(e.says)} | {_status(e)} |" for e in entries]
    return "\n".join(lines) + "\n"


def _syntax(entry: BuiltIn) -> str:
    also = [name for name in entry.aliases if name.isidentifier()]
    return entry.syntax + (f", also {', '.join(also)}" if also else "")


def _status(entry: BuiltIn) -> str:
    if entry.status is Status.SUPPORTED:
        return "supported"
    return f"*{entry.status.value}*: {_cell(entry.reason)}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _code(text: str) -> str:
    return f"`{_cell(text)}`" if "`" not in text else _cell(text)


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
