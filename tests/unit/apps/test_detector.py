from __future__ import annotations

from collections.abc import Iterator

import pytest

from scurry.apps.card_fraud.detector import ALERTS, LATE, Alert, FraudDetector
from scurry.apps.card_fraud.payments import Payment
from scurry.testing import OperatorHarness


@pytest.fixture
def harness() -> Iterator[OperatorHarness]:
    with OperatorHarness(FraudDetector(), key_selector=lambda payment: payment.card) as harness:
        yield harness


def pay(harness: OperatorHarness, card: int, cents: int, seconds: int) -> Payment:
    payment = Payment(card, "music", cents, seconds * 1000)
    harness.process_element(payment, payment.time_ms)
    return payment


def test_a_small_charge_followed_by_a_large_one_is_an_alert(harness: OperatorHarness) -> None:
    pay(harness, 1, 99, 10)
    pay(harness, 1, 50_001, 70)
    assert harness.side_output(ALERTS) == [Alert(70_000, 1, 50_001, 10_000)]


@pytest.mark.parametrize(
    ("small", "large", "seconds"), [(100, 50_001, 20), (99, 50_000, 20), (99, 50_001, 71)]
)
def test_too_much_too_little_or_too_late_is_none(
    harness: OperatorHarness, small: int, large: int, seconds: int
) -> None:
    pay(harness, 1, small, 10)
    pay(harness, 1, large, seconds)
    assert harness.side_output(ALERTS) == []


def test_other_cards_do_not_matter(harness: OperatorHarness) -> None:
    pay(harness, 1, 99, 10)
    pay(harness, 2, 50_001, 20)
    assert harness.side_output(ALERTS) == []


def test_a_small_charge_raises_one_alert_only(harness: OperatorHarness) -> None:
    pay(harness, 1, 99, 10)
    pay(harness, 1, 60_000, 20)
    pay(harness, 1, 70_000, 21)
    assert [alert.cents for alert in harness.side_output(ALERTS)] == [60_000]
    assert harness.timers() == []


def test_the_timer_takes_the_flag_down(harness: OperatorHarness) -> None:
    pay(harness, 1, 99, 10)
    assert harness.state("small charge at") == {1: 10_000}
    harness.process_watermark(70_000)
    assert harness.state("small charge at") == {}


def test_a_second_small_charge_starts_the_minute_anew(harness: OperatorHarness) -> None:
    pay(harness, 1, 99, 10)
    pay(harness, 1, 50, 40)
    assert harness.timers() == [(100_000, 1)]


def test_late_payments_are_set_aside_and_not_judged(harness: OperatorHarness) -> None:
    harness.process_watermark(20_000)
    late = pay(harness, 1, 99, 20)
    on_time = pay(harness, 1, 60_000, 21)
    assert harness.side_output(LATE) == [late]
    assert harness.side_output(ALERTS) == []
    assert harness.output == [on_time]
