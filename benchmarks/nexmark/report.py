"""NEXMark's times as the table of ``docs/benchmarks.md``: seconds of each contender, and ratios."""

from __future__ import annotations

import json
import re
from typing import Any

from benchmarks._results import OUT, machine
from benchmarks.nexmark import queries

RESULTS = OUT / "nexmark.json"
_BLOCK = re.compile(r"(<!-- results: nexmark -->\n).*?(<!-- end of results -->)", re.DOTALL)


def fill(page: str) -> str:
    """``page`` with the times of the runs that have been made beside others, those with the most
    queries first; as it is, if there is none."""
    if not RESULTS.exists():
        return page
    kept: dict[str, dict[str, dict[str, Any]]] = json.loads(RESULTS.read_text())
    runs = [(int(n), found) for n, found in kept.items() if len(found) > 1 and "scurry" in found]
    runs.sort(key=lambda run: (-len(run[1]["scurry"]), -run[0]))
    tables = "".join(render(*run) for run in runs)
    return _BLOCK.sub(lambda found: f"{found[1]}{tables}{found[2]}", page) if tables else page


def render(events: int, found: dict[str, dict[str, Any]]) -> str:
    """The times as Markdown: a line for each query, and one for the sums."""
    others = [name for name in found if name != "scurry"]
    heads = ["query", "scurry", *others, *(f"Scurry is, of {name}" for name in others)]
    ways = dict.fromkeys(found[one]["command"] for one in ("scurry", *others))
    lines = ["", *(f"`{way}`, {machine()}, {events:,} events, seconds" for way in ways), ""]
    most = ", ".join(
        f"{one} {found[one]['memory']:,}" for one in ("scurry", *others) if "memory" in found[one]
    )
    lines += [f"The most megabytes of all processes together: {most}.", ""] if most else []
    lines += [_line(heads), _line(["---"] + ["---:"] * (len(heads) - 1))]
    ran = [name for name in queries() if isinstance(found["scurry"].get(name), float)]
    for name in ran:
        lines.append(_line([name, *_cells([found[one].get(name) for one in ("scurry", *others)])]))
    shared = [q for q in ran if all(isinstance(found[one].get(q), float) for one in others)]
    sums = [sum(found[one][q] for q in shared) for one in ("scurry", *others)]
    lines.append(_line([f"sum of {len(shared)}", *_cells(sums)]))
    return "\n".join([*lines, "", ""])


def _cells(seconds: list[Any]) -> list[str]:
    """Seconds of Scurry and the others, then how many times as fast Scurry is as each of them."""
    ours, *theirs = seconds
    times = [f"{one:.2f}" if isinstance(one, float) else "" for one in seconds]
    return times + [f"{one / ours:.2f}x" if isinstance(one, float) else "" for one in theirs]


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"
