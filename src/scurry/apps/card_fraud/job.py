"""The stream program: one source, two keyed operators, three sinks, one job.

::

    payments -> by card -> FraudDetector -+-> by category -> running totals -> LatestTotals
                                          +-> side output "alerts" -> ListSink
                                          +-> side output "late" -> ListSink

Results end in sinks on the driver. A sink's writer runs in a worker, at the end of the chain that
feeds it; what its ``prepare`` returns reaches ``commit`` on the driver once per micro-batch.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from scurry.apps.card_fraud.detector import ALERTS, LATE, Alert, FraudDetector
from scurry.apps.card_fraud.payments import MAX_DELAY_MS, Payment, PaymentSource
from scurry.common.time import Duration
from scurry.common.watermark_strategy import WatermarkStrategy
from scurry.connectors.memory import DriverSink
from scurry.datastream import Sink, StreamExecutionEnvironment
from scurry.datastream.functions import SinkWriter, WriterContext

#: Category, payments, cents.
Total = tuple[str, int, int]


class ListSink(DriverSink):
    """Keeps everything that arrives in a list on the driver."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Any] = []

    def receive(self, index: int, parallelism: int, rows: list[Any]) -> None:
        self.rows.extend(rows)


class LatestTotals(Sink):
    """Keeps the last total of each category; only that one leaves the worker.

    Committing a batch twice overwrites totals with themselves, so the sink is exactly-once.
    """

    def __init__(self) -> None:
        self.totals: dict[str, Total] = {}

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _LatestWriter()

    def commit(self, batch_id: int, messages: list[dict[str, Total]]) -> None:
        for message in messages:
            self.totals.update(message)


class _LatestWriter(SinkWriter):
    def __init__(self) -> None:
        self._latest: dict[str, Total] = {}

    def write(self, rows: list[Total]) -> None:
        self._latest.update((row[0], row) for row in rows)

    def prepare(self) -> dict[str, Total]:
        latest, self._latest = self._latest, {}
        return latest


@dataclass
class Results:
    """The sinks of the job; filled while it runs."""

    alert_sink: ListSink = field(default_factory=ListSink)
    late_sink: ListSink = field(default_factory=ListSink)
    total_sink: LatestTotals = field(default_factory=LatestTotals)

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
        """The final total of each category, by name."""
        return sorted(self.total_sink.totals.values())


def build(environment: StreamExecutionEnvironment, source: PaymentSource) -> Results:
    """Add the program to ``environment``; returns the sinks its results will be in."""
    results = Results()
    bound = Duration.of_millis(MAX_DELAY_MS)
    # the source knows when each payment happened, so the strategy needs no timestamp assigner
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(bound)
    payments = environment.from_source(source, strategy, "payments").uid("timestamps")
    judged = payments.key_by(_card).process(FraudDetector()).name("fraud").uid("fraud")
    totals = judged.map(_as_total).key_by(_category).reduce(_add).name("totals").uid("totals")
    totals.sink_to(results.total_sink).name("totals").uid("total-sink")
    judged.get_side_output(ALERTS).sink_to(results.alert_sink).name("alerts").uid("alert-sink")
    judged.get_side_output(LATE).sink_to(results.late_sink).name("late").uid("late-sink")
    return results


def _card(payment: Payment) -> int:
    return payment.card


def _as_total(payment: Payment) -> Total:
    return payment.category, 1, payment.cents


def _category(total: Total) -> str:
    return total[0]


def _add(total: Total, one: Total) -> Total:
    return total[0], total[1] + one[1], total[2] + one[2]
