"""Write docs/reference/options.md, the page of all options, from their definitions.

Usage:
    python scripts/options_page.py           (what `make docs` runs)
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from scurry.common.options import SUBJECTS, defined_in
from scurry.common.options.option import Option

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "options.md"

INTRODUCTION = """\
<!-- Written by scripts/options_page.py from src/scurry/common/options; do not edit. -->

# Options

All keys that Scurry reads from a configuration. Settings come, later ones winning, from the
`Configuration` given to `get_execution_environment`, from `scurry run`, and from setters of the
environment. A value that does not fit is refused when the job is built.

| type | how it is written |
|---|---|
| boolean | `true` or `false` |
| integer, number | `4`, `0.5` |
| duration | `500 ms`, `10 s`, `1 min`, `2 h`; a bare number is milliseconds |
| memory | `64 kb`, `4 mb`; a bare number is bytes |
| enum | one of the names given, in upper or lower case, with `-` or `_` |
| list | items separated by commas, or by semicolons |
| map | `name:value,name:value` |

An older key is read where the key itself is not set. *No effect* marks an option that tunes a part
of Flink which Scurry does not have: it can be set and read again, and changes nothing.

A misspelt key is refused when the job is built, with the name that was probably meant: any unknown
key that begins with `scurry.`, and in the namespaces of Flink one that is a known key but for the
letters of some words. Keys that Flink knows and Scurry has no use for are accepted and named in the
log `scurry.settings`, once. Keys that begin with `spark.` go to Spark when Scurry makes the
session. All other keys belong to your program and are left alone.
"""


def page() -> str:
    """The whole page."""
    return "\n".join([INTRODUCTION, *(_section(*subject) for subject in SUBJECTS)])


def _section(title: str, module: Any) -> str:
    lines = [f"## {title}", "", "| key | type | default | meaning |", "|---|---|---|---|"]
    lines += [
        f"| `{option.key}` | {option.type} | {_default(option)} | {' '.join(_notes(option))} |"
        for option in defined_in(module)
    ]
    return "\n".join(lines) + "\n"


def _default(option: Option[Any]) -> str:
    value = option.default
    if value is None or value in ("", ()):
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if option.type == "duration":
        return f"`{_scaled(value, (('h', 3_600_000), ('min', 60_000), ('s', 1000)), 'ms')}`"
    if option.type == "memory":
        return f"`{_scaled(value, (('mb', 1 << 20), ('kb', 1 << 10)), 'b')}`"
    return f"`{value}`"


def _scaled(value: int, units: Iterable[tuple[str, int]], smallest: str) -> str:
    """A quantity in the largest unit of which it is a whole number."""
    for name, size in units:
        if value and value % size == 0:
            return f"{value // size} {name}"
    return f"{value} {smallest}"


def _notes(option: Option[Any]) -> Iterable[str]:
    if not option.effective:
        yield "*No effect.*"
    yield option.doc
    if option.choices:
        yield f"One of {', '.join(f'`{choice}`' for choice in option.choices)}."
    if option.setter:
        yield f"Set by `{option.setter}`."
    if option.older:
        yield f"Older: {', '.join(f'`{key}`' for key in option.older)}."


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
