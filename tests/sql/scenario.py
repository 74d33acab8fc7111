"""Scenarios: a query declared once, with its input and what Flink gives for it.

A scenario is a file of SQL. Its comments hold what SQL cannot:

    -- What the query shows, in a sentence.
    -- file orders.json
    -- {"id": 1, "price": 2.5}
    CREATE TABLE orders (id INT, price DOUBLE) WITH (... 'path' = '$DIR/orders.json' ...);
    SELECT ...;
    -- table
    -- [1, 2.5]
    -- changes
    -- +I[1, 2.5]

``file`` gives the lines of a file that tables read, ``table`` the rows that the query amounts to in
the end, in any order, ``changes`` every change in order, which is left out where Flink's order is
not fixed. All statements but the last are executed first. ``refused`` in place of both says that
the query is refused, and holds words of the message. In batch mode the rows are the same, unless
``batch`` gives others, or ``refused in batch`` words of the message. ``only flink's batch`` is what
Flink alone does in batch mode, in rows or words of its message: it refuses or fails there where
Scurry gives the same rows as in a stream, or takes another of several rows that are as good.

Nothing in the file is Scurry's own: ``scripts/flink_scenarios.py`` runs the same files on PyFlink,
compares, and writes the expected part of new ones.
"""

from __future__ import annotations

import datetime
import decimal
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).parent / "scenarios"
_SECTION = re.compile(
    r"-- (file (?P<file>\S+)|table|changes|refused in batch|refused|batch|only flink's batch)\s*$"
)
_TAKEN_BACK = ("-U", "-D")


@dataclass
class Scenario:
    """What a file says."""

    name: str
    title: str
    statements: list[str]
    files: dict[str, list[str]] = field(default_factory=dict)
    table: list[str] | None = None
    changes: list[str] | None = None
    refused: str | None = None
    batch: list[str] | None = None
    refused_in_batch: str | None = None
    only_flinks_batch: list[str] | None = None

    def write_files(self, directory: Path) -> None:
        """Make the files that tables read."""
        for name, lines in self.files.items():
            (directory / name).write_text("".join(f"{line}\n" for line in lines))

    def definitions(self, directory: Path) -> list[str]:
        """All statements but the query."""
        return [one.replace("$DIR", str(directory)) for one in self.statements[:-1]]

    def query(self, directory: Path) -> str:
        """The query."""
        return self.statements[-1].replace("$DIR", str(directory))


def read_scenario(path: Path) -> Scenario:
    """The scenario of a file."""
    lines = path.read_text().splitlines()
    sections: dict[str, list[str]] = {}
    current: list[str] | None = None
    sql: list[str] = []
    for line in lines:
        found = _SECTION.match(line)
        if found is not None:
            key = (found["file"] and f"file {found['file']}") or found[1]
            current = sections.setdefault(key, [])
        elif line.startswith("--") and current is not None:
            current.append(line.removeprefix("--").removeprefix(" "))
        elif not line.startswith("--"):
            current = None
            sql.append(line)
    files = {k.removeprefix("file "): v for k, v in sections.items() if k.startswith("file ")}
    statements = [one.strip() for one in "\n".join(sql).split(";\n") if one.strip(" \n;")]
    refused, in_batch = sections.get("refused"), sections.get("refused in batch")
    return Scenario(
        path.stem,
        lines[0].removeprefix("-- "),
        [one.rstrip(";") for one in statements],
        files,
        sections.get("table"),
        sections.get("changes"),
        None if refused is None else "\n".join(refused),
        sections.get("batch"),
        None if in_batch is None else "\n".join(in_batch),
        sections.get("only flink's batch"),
    )


def all_scenarios() -> list[Scenario]:
    """The scenarios of the directory."""
    return [read_scenario(path) for path in sorted(DIRECTORY.glob("*.sql"))]


def change_text(kind: str, values: Sequence[Any]) -> str:
    """A change as scenarios write it: ``+I[1, a, null]``."""
    return f"{kind}[{', '.join(map(text_of, values))}]"


def text_of(value: Any) -> str:
    """A value in a form that both sides have."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, decimal.Decimal):
        return f"{value:f}"
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None).isoformat(" ", "milliseconds")
    if isinstance(value, dict):
        return "{" + ", ".join(sorted(f"{text_of(k)}={text_of(v)}" for k, v in value.items())) + "}"
    if isinstance(value, list | tuple) or type(value).__name__ == "Row":
        return f"({', '.join(map(text_of, value))})"
    return str(value)


def table_text(changes: Iterable[str]) -> list[str]:
    """The rows that changes amount to, sorted; a row that was never there is an error."""
    counts: Counter[str] = Counter()
    for change in changes:
        counts[change[2:]] += -1 if change[:2] in _TAKEN_BACK else 1
    wrong = [row for row, count in counts.items() if count < 0]
    assert not wrong, f"taken back more often than inserted: {wrong}"
    return sorted(row for row, count in counts.items() for _ in range(count))
