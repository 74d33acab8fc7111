"""Writes the tables of ``docs/benchmarks.md`` from the results in ``build/bench``.

A table stands between ``<!-- results: NAME -->`` and ``<!-- end of results -->``. A benchmark that
has not been run leaves its table as it is.
"""

from __future__ import annotations

import re
from pathlib import Path

import click

from benchmarks import _results
from benchmarks._results import ROOT, Result
from benchmarks.nexmark import report as nexmark

PAGE = ROOT / "docs" / "benchmarks.md"
#: Benchmarks whose results have a form of their own.
_OWN_FORM = ("nexmark", "sql_operators")
_BLOCK = re.compile(r"(<!-- results: (\w+) -->\n).*?(<!-- end of results -->)", re.DOTALL)


def fill(page: str, results: dict[str, list[Result]]) -> str:
    """``page`` with the tables of those benchmarks that have results."""

    def block(found: re.Match[str]) -> str:
        measured = results.get(found[2])
        return f"{found[1]}{render(measured)}{found[3]}" if measured else found[0]

    return _BLOCK.sub(block, page)


def names(page: str) -> list[str]:
    """The benchmarks whose tables ``page`` holds."""
    return [found[2] for found in _BLOCK.finditer(page)]


def render(results: list[Result]) -> str:
    """``results`` as Markdown: how they were measured, the table, the notes."""
    lines = [""]
    for way in dict.fromkeys((result.command, result.machine) for result in results):
        dates = [
            result.measured_at for result in results if way == (result.command, result.machine)
        ]
        lines.append(f"`{way[0]}`, {way[1]}, {max(dates)}")
    described = _results.columns(results)
    lines += ["", _line([heading for heading, _, _ in described])]
    lines.append(_line(["---" if side == "left" else "---:" for _, side, _ in described]))
    lines += [_line(row) for row in zip(*(cells for _, _, cells in described), strict=True)]
    lines += ["", *(f"- `{result.contender}`: {result.note}" for result in results), "", ""]
    return "\n".join(lines)


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"


@click.command(help=__doc__.splitlines()[0])
@click.option("--page", type=click.Path(path_type=Path, exists=True), default=PAGE)
def main(page: Path) -> None:
    """Fill the page's tables."""
    before = page.read_text()
    known = {name: _results.load(name) for name in names(before) if name not in _OWN_FORM}
    page.write_text(nexmark.fill(fill(before, known)))
    for name, results in known.items():
        print(f"{name}: {len(results)} results" if results else f"{name}: not measured, left as is")


if __name__ == "__main__":
    main()
