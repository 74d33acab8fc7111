from __future__ import annotations

from itertools import pairwise

import pytest

from scurry.apps.card_fraud.payments import GAP_MS, START_MS, Payment, PaymentSource


def read(source: PaymentSource, start: int, end: int) -> list[Payment]:
    columns = [batch.columns for batch in source.read([start, end])]
    return [Payment(**row) for batch in columns for row in batch.to_pylist()]


def test_the_same_seed_gives_the_same_payments() -> None:
    assert list(PaymentSource(500, 3).payments()) == list(PaymentSource(500, 3).payments())
    assert list(PaymentSource(500, 3).payments()) != list(PaymentSource(500, 4).payments())


def test_a_negative_seed_is_a_seed_of_its_own() -> None:
    assert list(PaymentSource(50, -3).payments()) != list(PaymentSource(50, 3).payments())


@pytest.mark.parametrize("cuts", [[0, 20_000], [0, 1, 8_191, 8_192, 8_193, 20_000]])
def test_ranges_hold_the_same_payments_however_the_stream_is_cut(cuts: list[int]) -> None:
    source = PaymentSource(20_000, 1)
    pieces = [read(source, start, end) for start, end in pairwise(cuts)]
    assert [len(piece) for piece in pieces] == [end - start for start, end in pairwise(cuts)]
    assert [payment for piece in pieces for payment in piece] == list(source.payments())


def test_timestamps_are_those_of_the_payments() -> None:
    for batch in PaymentSource(9_000, 1).read([100, 9_000]):
        assert batch.timestamps is not None
        assert batch.columns is not None
        assert batch.timestamps.tolist() == batch.columns.column("time_ms").to_pylist()


def test_payments_come_out_of_order_but_not_before_they_happened() -> None:
    times = [payment.time_ms for payment in PaymentSource(5_000, 1).payments()]
    assert times != sorted(times)
    assert all(time <= START_MS + GAP_MS * at for at, time in enumerate(times))


def test_the_enumerator_walks_to_the_end() -> None:
    enumerator = PaymentSource(25, 1).enumerator(2)
    position, sizes = enumerator.initial_position(), []
    while True:
        plan = enumerator.plan(position, 10)
        sizes += [end - start for start, end in (item.what for item in plan.ranges)]
        position = plan.position
        if plan.finished:
            break
    assert sizes == [10, 10, 5]
