"""The stream program: one source, two keyed operators, three sinks, one job.

::

    payments -> by card -> FraudDetector -+-> by category, 10-minute windows -> ListSink
                                          +-> side output "alerts" -> ListSink
                                          +-> side output "late" -> ListSink

Results end in sinks on the driver. A sink's writer runs in a worker, at the end of the chain that
feeds it; what its ``prepare`` returns reaches ``commit`` on the driver once per micro-batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from scurry.apps.card_fraud.detector import ALERTS, LATE, Alert, FraudDetector
from scurry.apps.card_fraud.payments import MAX_DELAY_MS, Payment, PaymentSource
from scurry.common.time import Duration
from scurry.common.watermark_strategy import WatermarkStrategy
from scurry.connectors.memory import DriverSink
from scurry.datastream import AggregateFunction, ProcessWindowFunction, StreamExecutionEnvironment
from scurry.datastream.window import TimeWindow, TumblingEventTimeWindows

#: Start of the window, category, payments, cents.
Total = tuple[int, str, int, int]
WINDOW = Duration.of_minutes(10)


class AddUp(AggregateFunction):
    """Payments and cents, added up as they come."""

    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Payment, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + 1, accumulator[1] + value.cents

    def get_result(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class NameWindow(ProcessWindowFunction[Any, Total, str, TimeWindow]):
    """Says of which window and category a sum is."""

    def process(self, key: str, context: Any, elements: Iterable[Any]) -> Iterator[Total]:
        for count, cents in elements:
            yield context.window().start, key, count, cents


class ListSink(DriverSink):
    """Keeps everything that arrives in a list on the driver."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Any] = []

    def receive(self, index: int, parallelism: int, rows: list[Any]) -> None:
        self.rows.extend(rows)


@dataclass
class Results:
    """The sinks of the job; filled while it runs."""

    alert_sink: ListSink = field(default_factory=ListSink)
    late_sink: ListSink = field(default_factory=ListSink)
    total_sink: ListSink = field(default_factory=ListSink)

    @property
    def alerts(self) -> list[Alert]:
        """All alerts, in order of time."""
        return sorted(self.alert_sink.rows)

    @property
    def late(self) -> list[Payment]:
        """All late payments."""
        return list(self.late_sink.rows)

    @property
    def totals(self) -> list[Total]:
        """The totals of all windows, in order of time and category."""
        return sorted(self.total_sink.rows)


def build(environment: StreamExecutionEnvironment, source: PaymentSource) -> Results:
    """Add the program to ``environment``; returns the sinks its results will be in."""
    results = Results()
    bound = Duration.of_millis(MAX_DELAY_MS)
    # the source knows when each payment happened, so the strategy needs no timestamp assigner
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(bound)
    payments = environment.from_source(source, strategy, "payments").uid("timestamps")
    judged = payments.key_by(_card).process(FraudDetector()).name("fraud").uid("fraud")
    windows = judged.key_by(_category).window(TumblingEventTimeWindows.of(WINDOW))
    totals = windows.aggregate(AddUp(), NameWindow()).name("totals").uid("totals")
    totals.sink_to(results.total_sink).name("totals").uid("total-sink")
    judged.get_side_output(ALERTS).sink_to(results.alert_sink).name("alerts").uid("alert-sink")
    judged.get_side_output(LATE).sink_to(results.late_sink).name("late").uid("late-sink")
    return results


def _card(payment: Payment) -> int:
    return payment.card


def _category(payment: Payment) -> str:
    return payment.category
