"""How much rounds of the live engine may read, and how much that holds the sources up."""

from __future__ import annotations

from scurry.engine.live.flow import Flow

MOST, BYTES = 50_000, 32 << 20


def read_all(flow: Flow, size: int, rounds: int = 40, due: int = 1 << 40) -> list[int]:
    """The bytes of so many rounds, each of which reads what it may of records that make ``size``
    bytes."""
    made = []
    for _ in range(rounds):
        read = min(flow.limit, due)
        made.append(read * size)
        flow.after(read, made[-1])
    return made


def test_records_that_make_little_are_read_in_rounds_as_large_as_they_may_be() -> None:
    flow = Flow(MOST, 1)
    read_all(flow, 100)
    assert flow.limit == MOST


def test_records_that_make_much_are_read_a_few_at_a_time() -> None:
    """One record becomes a megabyte: no round makes much more than fits, not even the first two."""
    flow = Flow(MOST, 1)
    made = read_all(flow, 1 << 20)
    assert max(made[1:]) <= BYTES
    assert flow.limit == 32


def test_what_several_sources_make_has_to_fit_together() -> None:
    flow = Flow(MOST, 4)
    read_all(flow, 1 << 20)
    assert flow.limit == 8


def test_a_stream_that_comes_slowly_is_not_read_in_large_rounds_at_once() -> None:
    """After an hour of few records there are suddenly many, which make much."""
    flow = Flow(MOST, 1)
    read_all(flow, 100, rounds=1000, due=20)
    assert max(read_all(flow, 50_000)) <= BYTES


def test_large_records_are_forgotten_in_time() -> None:
    flow = Flow(MOST, 1)
    read_all(flow, 1 << 20, rounds=3)
    read_all(flow, 100, rounds=300)
    assert flow.limit == MOST


def test_there_is_always_something_to_read() -> None:
    flow = Flow(MOST, 1)
    read_all(flow, 1 << 30)
    assert flow.limit == 1


def test_rounds_that_read_nothing_say_nothing() -> None:
    flow = Flow(MOST, 1)
    flow.after(0, 1 << 30)
    assert flow.limit == 500
    assert flow.rounds == 1


def test_the_share_of_time_for_which_sources_wait() -> None:
    flow = Flow(MOST, 1)
    for now, full in ((10.0, False), (11.0, True), (14.0, True), (15.0, False)):
        flow.look(full, now)
    assert flow.held_up(18.0) == 0.5
    flow.look(True, 18.0)
    assert flow.held_up(20.0) == 1.0
    assert flow.held_up(22.0) == 1.0
