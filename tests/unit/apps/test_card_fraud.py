from __future__ import annotations

from dataclasses import dataclass, field
from io import StringIO

import pytest
from rich.console import Console

from scurry.apps.card_fraud.demo import check, main
from scurry.apps.card_fraud.detector import Alert
from scurry.apps.card_fraud.expected import compute
from scurry.apps.card_fraud.job import Results, build
from scurry.apps.card_fraud.payments import Payment, PaymentSource
from scurry.apps.card_fraud.screen import Screen, as_money, as_time
from scurry.datastream import StreamExecutionEnvironment
from scurry.testing import run_local


@dataclass
class Step:
    batch: int = 3
    records_read: int = 40_000
    last: dict[str, int] = field(default_factory=lambda: {"read:s": 10_000, "in:x": 9_000})
    last_seconds: float = 0.5
    gauges: dict[str, int] = field(default_factory=lambda: {"state_entries": 12})
    watermarks: dict[str, int] = field(
        default_factory=lambda: {"a": 1_740_988_801_234, "b": 1_740_988_800_000}
    )


def screen(events: int = 40_000, terminal: bool = False) -> tuple[Screen, StringIO]:
    printed = StringIO()
    return Screen(Console(file=printed, force_terminal=terminal, width=100), events), printed


def run(source: PaymentSource, cuts: int | list[int]) -> Results:
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(2)
    results = build(environment, source)
    run_local(environment, cuts)
    return results


def with_state(shown: Screen, entries: int) -> Screen:
    shown.on_progress(Step(gauges={"state_entries": entries}))
    return shown


@pytest.mark.parametrize("cuts", [20_000, 4_000, [1, 9_000, 77]])
def test_the_job_finds_what_brute_force_finds(cuts: int | list[int]) -> None:
    source = PaymentSource(12_000, 5)
    results, expected = run(source, cuts), compute(source.payments())
    assert results.alerts == expected.alerts
    assert results.totals == expected.totals
    assert sorted(p.time_ms for p in results.late) == sorted(p.time_ms for p in expected.late)
    assert expected.alerts
    assert expected.late


def test_right_results_are_said_to_match() -> None:
    source = PaymentSource(12_000, 5)
    shown, printed = screen()
    assert check(with_state(shown, 0), run(source, 12_000), source)
    assert printed.getvalue().count("matches") == 4


def test_wrong_results_are_shown_with_the_first_difference() -> None:
    source = PaymentSource(12_000, 5)
    results = run(source, 12_000)
    results.alert_sink.rows.append(Alert(1, 2, 3, 4))
    results.late_sink.rows.append(results.late_sink.rows[0])
    gone = next(total for total in results.total_sink.rows if total[1] == "fuel")
    results.total_sink.rows.remove(gone)
    shown, printed = screen()
    assert not check(with_state(shown, 9), results, source)
    text = printed.getvalue()
    assert text.count("MISMATCH") == 4
    assert "only found by the job: Alert(time_ms=1, card=2, cents=3, small_time_ms=4)" in text
    assert f"only expected: {gone}" in text
    assert "state entries at the end: 9 found, 0 expected" in text


def test_brute_force_on_a_stream_made_by_hand() -> None:
    def pay(card: int, cents: int, seconds: int) -> Payment:
        return Payment(card, "fuel" if card == 1 else "music", cents, seconds * 1000)

    payments = [
        pay(1, 50, 0),
        pay(2, 50, 1),
        pay(1, 60_000, 30),
        pay(1, 70_000, 31),
        pay(2, 60_000, 62),
        pay(2, 99_999, 51),
        pay(2, 10, 52),
        pay(2, 80_000, 53),
    ]
    expected = compute(payments)
    assert expected.late == [payments[5]]
    assert expected.alerts == [Alert(30_000, 1, 60_000, 0), Alert(53_000, 2, 80_000, 52_000)]
    assert expected.totals == [(0, "fuel", 3, 130_050), (0, "music", 4, 140_060)]


def test_progress_is_one_plain_line_where_there_is_no_terminal() -> None:
    shown, printed = screen()
    with shown.live():
        shown.on_progress(Step())
    assert printed.getvalue().splitlines()[1] == (
        "micro-batch 3  payments 40,000  payments/s 20,000  watermark 08:00:00.000  "
        "state entries 12"
    )


def test_progress_is_a_panel_on_a_terminal() -> None:
    shown, printed = screen(terminal=True)
    with shown.live():
        shown.on_progress(Step(watermarks={}))
    assert "card fraud" in printed.getvalue()
    assert "none yet" in printed.getvalue()


def test_only_the_first_alerts_are_listed() -> None:
    shown, printed = screen()
    shown.alerts([Alert(at, at, 60_000, 0) for at in range(12)])
    assert "12 alerts, the first 10 of them" in printed.getvalue()
    assert printed.getvalue().count("600.00") == 10


def test_times_and_amounts_are_readable() -> None:
    assert as_time(1_740_988_800_001) == "08:00:00.001"
    assert as_time((1 << 63) - 1) == "end of input"
    assert as_money(123_456_705) == "1,234,567.05"


def test_the_exit_code_is_1_if_anything_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    # a run that ends before its input leaves results out
    monkeypatch.setattr(StreamExecutionEnvironment, "execute", lambda self, name: None)
    printed = StringIO()
    assert main(9_000, 5, Console(file=printed, width=100)) == 1
    assert "totals of windows: 0 found, 16 expected: MISMATCH" in printed.getvalue()
