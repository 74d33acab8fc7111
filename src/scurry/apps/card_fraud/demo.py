"""Running the application: build the job, watch it, check what it found."""

from __future__ import annotations

import time

from rich.console import Console

from scurry.apps.card_fraud.expected import compute
from scurry.apps.card_fraud.job import Results, build
from scurry.apps.card_fraud.payments import Payment, PaymentSource
from scurry.apps.card_fraud.screen import Screen
from scurry.common.options.execution import BATCH_RECORDS
from scurry.datastream import StreamExecutionEnvironment

#: Micro-batches of this size show progress about once a second.
_BATCH_RECORDS = 25_000


def main(events: int, seed: int, console: Console | None = None) -> int:
    """Run the demo over ``events`` payments; 0 if its results are right, else 1."""
    console = console or Console()
    source = PaymentSource(events, seed)
    screen = Screen(console, events)
    environment = StreamExecutionEnvironment.get_execution_environment()
    BATCH_RECORDS.write(environment.get_configuration(), _BATCH_RECORDS)
    environment.on_progress(screen.on_progress)
    results = build(environment, source)
    console.print(f"{events:,} payments, seed {seed}", highlight=False)
    began = time.perf_counter()
    with screen.live():
        environment.execute("card fraud")
    console.print(f"the job took {time.perf_counter() - began:.1f} s", highlight=False)
    screen.alerts(results.alerts)
    screen.totals(results.totals)
    return 0 if check(screen, results, source) else 1


def check(screen: Screen, results: Results, source: PaymentSource) -> bool:
    """Compare every result with brute force over the same payments."""
    expected = compute(source.payments())
    verdicts = [
        screen.verdict("alerts", results.alerts, expected.alerts),
        screen.verdict("late payments", _rows(results.late), _rows(expected.late)),
        screen.verdict("totals of windows", results.totals, expected.totals),
        # flags, timers and windows are gone by the end
        screen.state_left(0),
    ]
    return all(verdicts)


def _rows(payments: list[Payment]) -> list[tuple[int, int, str, int]]:
    return [(p.time_ms, p.card, p.category, p.cents) for p in payments]
