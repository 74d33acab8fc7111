"""Write docs/reference/sql-statements.md: statements, connectors, formats and their options.

python scripts/sql_statements_page.py           (what `make docs` runs)
python scripts/sql_statements_page.py --check   (exit code 1 if the page is out of date)
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from scurry.table.factories import COLUMN_FORMATS, CONNECTORS, FORMATS
from scurry.table.factories.contract import TableOption
from scurry.table.statements import ALTERED, EXECUTORS, SHOWN
from scurry.table.statements.gaps import GAPS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "sql-statements.md"

HEAD = """\
# SQL statements

<!-- Written by scripts/sql_statements_page.py from the tables that the code uses; do not edit. -->

Statements are Flink's. What is in this list is executed; queries have
[a page of their own](sql-queries.md).
"""


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *_statements(), *_gaps(), *_connectors(), *_formats()]) + "\n"


def _statements() -> Iterator[str]:
    yield "| statement | what is written |"
    yield "|---|---|"
    for kind in sorted(EXECUTORS, key=lambda one: one.__name__):
        yield f"| {_words(kind.__name__)} | {_said_of(kind)} |"
    yield "\n## What ALTER changes\n"
    yield "| kind | changes |"
    yield "|---|---|"
    for name, changes in ALTERED.items():
        said = "; ".join(_said_of(one).rstrip(".") for one in changes)
        yield f"| {name} | {said} |"
    yield "\n## What SHOW shows\n"
    yield f"{', '.join(f'`SHOW {subject}`' for subject in sorted(SHOWN))}.\n"
    yield (
        "Lists take `FROM` or `IN` a catalog or database, and `[NOT] LIKE 'pattern'` or `ILIKE`; "
        "`SHOW PARTITIONS t` takes `PARTITION (p = 'x')`.\n"
    )


def _said_of(kind: type) -> str:
    """The docstring of a node on one line."""
    return _cell(" ".join((inspect.getdoc(kind) or "").split()))


def _words(name: str) -> str:
    """The name of a statement, as ``CREATE TABLE`` for ``CreateTable``."""
    return " ".join(re.findall("[A-Z][a-z]*", name)).upper()


def _gaps() -> Iterator[str]:
    yield "## Statements that are refused\n"
    yield "| statement | status | instead |"
    yield "|---|---|---|"
    for gap in GAPS.values():
        yield f"| {gap.statement} | {gap.status} | {_cell(gap.advice)} |"
    yield ""


def _connectors() -> Iterator[str]:
    yield "## Connectors\n"
    for name, factory in CONNECTORS.items():
        yield f"### {name}\n"
        yield f"{factory.doc}\n"
        yield from _options(factory.options)
        if factory.readable:
            columns = ", ".join(f"`{key}` ({kind})" for key, kind in factory.readable.items())
            yield f"Metadata columns: {columns}.\n"


def _formats() -> Iterator[str]:
    yield "## Formats\n"
    yield "Their options have the format in front, such as `json.ignore-parse-errors`.\n"
    for name, factory in (*FORMATS.items(), *COLUMN_FORMATS.items()):
        yield f"### {name}\n"
        yield f"{factory.doc}\n"
        yield from _options(factory.options)


def _options(options: Sequence[TableOption]) -> Iterator[str]:
    if not options:
        yield "No options.\n"
        return
    yield "| option | type | default | meaning |"
    yield "|---|---|---|---|"
    for one in options:
        option = one.option
        default = "**required**" if one.required else _default(option.default)
        key = f"{one.key}*" if one.is_prefix else one.key
        yield f"| `{key}` | {option.type} | {default} | {_cell(option.doc)} |"
    yield ""


def _default(value: object) -> str:
    if value in (None, "", ()):
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("``", "`")


def main() -> int:
    """Write the page, or check it."""
    text = page()
    if "--check" in sys.argv:
        return 0 if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
