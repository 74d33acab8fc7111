"""What the application shows: progress while the job runs, results at the end.

On a terminal the progress is one panel that is redrawn after every micro-batch. Where the output
goes to a file or a pipe it is one plain line per micro-batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Protocol

from rich.console import Console
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from scurry.apps.card_fraud.detector import Alert
from scurry.apps.card_fraud.job import Total

_SHOWN_ALERTS = 10
#: Watermarks beyond this stand for the end of the input.
_END_OF_TIME = 1 << 60


class Snapshot(Protocol):
    """The part of a job's progress that is shown."""

    batch: int
    last: dict[str, int]
    last_seconds: float
    gauges: dict[str, int]
    watermarks: dict[str, int]

    @property
    def records_read(self) -> int:
        """Records read from all sources so far."""


class Screen:
    """Shows one run of the job over ``events`` payments."""

    def __init__(self, console: Console, events: int) -> None:
        self.console = console
        self._state = 0
        self._events = events
        self._live: Live | None = None

    @contextmanager
    def live(self) -> Iterator[None]:
        """While the body runs, progress is shown."""
        waiting = "starting Spark, then the first micro-batch ..."
        if not self.console.is_terminal:
            self.console.print(waiting, highlight=False)
            yield
            return
        with Live(Text(waiting), console=self.console, refresh_per_second=8) as self._live:
            yield

    def on_progress(self, progress: Snapshot) -> None:
        """Called by the environment after every micro-batch."""
        self._state = progress.gauges.get("state_entries", 0)
        facts = _facts(progress)
        if self._live is None:
            line = "  ".join(f"{name} {value}" for name, value in facts.items())
            self.console.print(line, highlight=False, soft_wrap=True)
        else:
            self._live.update(self._panel(progress.records_read, facts))

    def _panel(self, read: int, facts: dict[str, str]) -> Panel:
        grid = Table.grid(padding=(0, 2))
        for name, value in facts.items():
            grid.add_row(Text(name, style="dim"), Text(value, style="bold"))
        grid.add_row(Text("progress", style="dim"), ProgressBar(self._events, read, width=40))
        return Panel(grid, title="card fraud", title_align="left", expand=False)

    def alerts(self, alerts: Sequence[Alert]) -> None:
        """The first alerts as a table."""
        title = f"{len(alerts)} alerts"
        if len(alerts) > _SHOWN_ALERTS:
            title += f", the first {_SHOWN_ALERTS} of them"
        table = Table("time", "card", "amount", "seconds after the small charge", title=title)
        for alert in alerts[:_SHOWN_ALERTS]:
            after = (alert.time_ms - alert.small_time_ms) / 1000
            table.add_row(
                as_time(alert.time_ms), f"{alert.card:05d}", as_money(alert.cents), f"{after:.1f}"
            )
        self._right(table, 2, 3)

    def totals(self, totals: Sequence[Total]) -> None:
        """The totals of the last window as a table."""
        last = max((total[0] for total in totals), default=0)
        title = f"totals per merchant category, last of {len({t[0] for t in totals})} windows"
        table = Table("10 minutes from", "category", "payments", "sum", title=title)
        for start, category, count, cents in totals:
            if start == last:
                table.add_row(as_time(start), category, f"{count:,}", as_money(cents))
        self._right(table, 2, 3)

    def _right(self, table: Table, *columns: int) -> None:
        for at in columns:
            table.columns[at].justify = "right"
        self.console.print(table)

    def verdict(self, what: str, found: Sequence[Any], expected: Sequence[Any]) -> bool:
        """Say whether ``found`` is what brute force says; where not, show the first difference."""
        only = {
            "found by the job": Counter(found) - Counter(expected),
            "expected": Counter(expected) - Counter(found),
        }
        right = not any(only.values())
        self._say(what, len(found), len(expected), right)
        for side, rows in only.items():
            for row in sorted(rows)[:1]:
                self.console.print(f"  only {side}: {row}", markup=False, soft_wrap=True)
        return right

    def state_left(self, expected: int) -> bool:
        """Say whether the job has left as much state behind as it should."""
        self._say("state entries at the end", self._state, expected, self._state == expected)
        return self._state == expected

    def _say(self, what: str, found: int, expected: int, right: bool) -> None:
        verdict = Text("matches", "green") if right else Text("MISMATCH", "bold red")
        self.console.print(Text(f"{what}: {found:,} found, {expected:,} expected: ") + verdict)


def _facts(progress: Snapshot) -> dict[str, str]:
    read = progress.last.get(next((n for n in progress.last if n.startswith("read:")), ""), 0)
    rate = read / progress.last_seconds if progress.last_seconds else 0.0
    marks = progress.watermarks.values()
    return {
        "micro-batch": str(progress.batch),
        "payments": f"{progress.records_read:,}",
        "payments/s": f"{rate:,.0f}",
        "watermark": as_time(min(marks)) if marks else "none yet",
        "state entries": f"{progress.gauges.get('state_entries', 0):,}",
    }


def as_time(time_ms: int) -> str:
    """Milliseconds since 1970 as a UTC time of day."""
    if time_ms > _END_OF_TIME:
        return "end of input"
    moment = datetime.fromtimestamp(time_ms / 1000, tz=UTC)
    return f"{moment:%H:%M:%S}.{time_ms % 1000:03d}"


def as_money(cents: int) -> str:
    """Cents as an amount with two decimals."""
    return f"{cents // 100:,}.{cents % 100:02d}"
