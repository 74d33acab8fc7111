"""The job's results by brute force: plain loops over all payments, no engine.

Nothing is shared with the job but the rules. Where the detector keeps a flag per card and lets a
timer take it down, this looks back through the card's whole history for each large charge.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from scurry.apps.card_fraud.detector import Alert
from scurry.apps.card_fraud.payments import MAX_DELAY_MS, Payment

_WINDOW_MS = 10 * 60 * 1000


@dataclass
class Expected:
    """What the job should find."""

    alerts: list[Alert] = field(default_factory=list)
    late: list[Payment] = field(default_factory=list)
    #: start of the window, category, payments, cents
    totals: list[tuple[int, str, int, int]] = field(default_factory=list)


def compute(payments: Iterable[Payment]) -> Expected:
    """The right results for ``payments``, given in order of arrival."""
    expected = Expected()
    on_time = _without_late(payments, expected.late)
    histories: dict[int, list[Payment]] = defaultdict(list)
    counts: dict[tuple[int, str], int] = defaultdict(int)
    sums: dict[tuple[int, str], int] = defaultdict(int)
    for payment in on_time:
        histories[payment.card].append(payment)
        window = payment.time_ms - payment.time_ms % _WINDOW_MS
        counts[window, payment.category] += 1
        sums[window, payment.category] += payment.cents
    for history in histories.values():
        expected.alerts.extend(_alerts_of(history))
    expected.alerts.sort()
    expected.totals = [(*place, counts[place], sums[place]) for place in sorted(counts)]
    return expected


def _without_late(payments: Iterable[Payment], late: list[Payment]) -> list[Payment]:
    """The payments above the watermark that stood when they arrived."""
    on_time: list[Payment] = []
    newest: int | None = None
    for payment in payments:
        watermark = None if newest is None else newest - MAX_DELAY_MS - 1
        if watermark is not None and payment.time_ms <= watermark:
            late.append(payment)
        else:
            on_time.append(payment)
        newest = payment.time_ms if newest is None else max(newest, payment.time_ms)
    return on_time


def _alerts_of(history: list[Payment]) -> list[Alert]:
    """A large charge is fraud if the small charge that arrived last before it, unless an earlier
    alert has used it up, happened at most a minute earlier."""
    found: list[Alert] = []
    used: set[int] = set()
    for at, large in enumerate(history):
        if large.cents <= 500_00:
            continue
        small_ones = [place for place in range(at) if history[place].cents < 1_00]
        if not small_ones or small_ones[-1] in used:
            continue
        small = history[small_ones[-1]]
        if 0 <= large.time_ms - small.time_ms <= 60 * 1000:
            used.add(small_ones[-1])
            found.append(Alert(large.time_ms, large.card, large.cents, small.time_ms))
    return found
