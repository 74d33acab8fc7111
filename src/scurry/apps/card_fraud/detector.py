"""The function that judges payments: one flag per card, and a timer that takes it down.

State and timers belong to the card of the payment being processed. A small charge raises the
card's flag, which holds the time of the charge, and sets a timer one minute later. A large charge
that meets the flag within that minute is fraud. When the watermark reaches the timer no such charge
can come any more, so the flag is taken down: state does not grow with the number of cards seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from scurry.apps.card_fraud.payments import Payment
from scurry.common.typeinfo import Types
from scurry.datastream import KeyedProcessFunction, OutputTag, RuntimeContext
from scurry.datastream.state import ValueState, ValueStateDescriptor
from scurry.functions import TimerService
from scurry.functions.process import KeyedElementContext, TimerContext

SMALL_CENTS = 100
LARGE_CENTS = 50_000
MINUTE_MS = 60_000

ALERTS = OutputTag("alerts")
LATE = OutputTag("late")


@dataclass(frozen=True, slots=True, order=True)
class Alert:
    """A small charge and the large one that followed it."""

    time_ms: int
    card: int
    cents: int
    small_time_ms: int


class FraudDetector(KeyedProcessFunction):
    """Passes payments on; alerts and late payments leave by side outputs."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._flag: ValueState[int] = runtime_context.get_state(
            ValueStateDescriptor("small charge at", Types.LONG())
        )

    def process_element(self, payment: Payment, ctx: KeyedElementContext) -> Iterator[Any]:
        timers = ctx.timer_service()
        if payment.time_ms <= timers.current_watermark():
            yield LATE, payment
            return
        if payment.cents < SMALL_CENTS:
            self._lower(timers)
            self._flag.update(payment.time_ms)
            timers.register_event_time_timer(payment.time_ms + MINUTE_MS)
        elif payment.cents > LARGE_CENTS:
            raised = self._flag.value()
            if raised is not None and 0 <= payment.time_ms - raised <= MINUTE_MS:
                self._lower(timers)
                yield ALERTS, Alert(payment.time_ms, payment.card, payment.cents, raised)
        yield payment

    def on_timer(self, timestamp: int, ctx: TimerContext) -> None:
        self._flag.clear()

    def _lower(self, timers: TimerService) -> None:
        raised = self._flag.value()
        if raised is not None:
            timers.delete_event_time_timer(raised + MINUTE_MS)
            self._flag.clear()
