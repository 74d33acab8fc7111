"""Timers come out in the order of time, each once, wherever they wait: in memory or stored."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scurry.runtime import timers
from scurry.runtime.timers import TimerQueue
from scurry.state.journal import MemoryJournal
from scurry.state.local.disk import LocalStore
from scurry.state.slot_store import SlotStore

LONG_KEYS = ["x" * 500 + str(number) for number in range(4)]


class Batches:
    """A queue over a store, cut into micro-batches."""

    def __init__(self, path: Path) -> None:
        self.local = LocalStore(path)
        self.store = SlotStore(self.local, 128)
        self.journal = MemoryJournal()
        self.queue = self.store.part("t", lambda: TimerQueue("t", self.local, 128))
        self._begin()

    def _begin(self) -> None:
        self.store.begin(self.journal)
        self.queue.begin()

    def cut(self) -> None:
        self.store.commit(self.journal, b"")
        self._begin()

    def fire(self, until: int) -> list[tuple[int, Any]]:
        fired = []
        while (due := self.queue.pop_due(until)) is not None:
            fired.append(due)
        assert self.queue.next_due > until
        return fired


@pytest.fixture
def batches(tmp_path: Path) -> Iterator[Batches]:
    made = Batches(tmp_path / "local")
    yield made
    made.local.close()


def test_many_stored_timers_come_out_in_order_while_time_creeps(batches: Batches) -> None:
    times = list(range(10_000))
    random.Random(1).shuffle(times)
    for time in times:
        batches.queue.register(time, time % 7)
    batches.cut()
    fired = [timer for until in range(0, 10_000, 3) for timer in batches.fire(until)]
    assert fired == [(time, time % 7) for time in range(10_000)]
    batches.cut()
    assert batches.queue.pending() == []


@pytest.mark.parametrize("key", [5, "a", LONG_KEYS[0]])
def test_a_stored_timer_set_again_fires_once(batches: Batches, key: Any) -> None:
    batches.queue.register(10, key)
    batches.cut()
    batches.queue.register(10, key)
    assert batches.fire(10) == [(10, key)]
    batches.cut()
    assert batches.fire(100) == []


@pytest.mark.parametrize("key", [5, LONG_KEYS[0]])
def test_a_stored_timer_deleted_and_set_again_fires_once(batches: Batches, key: Any) -> None:
    batches.queue.register(10, key)
    batches.cut()
    batches.queue.delete(10, key)
    batches.queue.register(10, key)
    assert batches.fire(10) == [(10, key)]
    batches.queue.register(10, key)
    assert batches.fire(10) == [(10, key)]
    batches.cut()
    assert batches.queue.pending() == []


def test_a_deleted_timer_does_not_come_back_with_the_next_batch(batches: Batches) -> None:
    batches.queue.register(10, 1)
    batches.queue.register(20, 1)
    batches.cut()
    batches.queue.delete(10, 1)
    batches.cut()
    assert batches.fire(30) == [(20, 1)]


def test_the_order_of_simultaneous_timers_does_not_depend_on_where_they_wait(
    batches: Batches,
) -> None:
    keys = [*LONG_KEYS, *range(50), "a", ("b", 1)]
    for key in keys:
        batches.queue.register(10, key)
    in_memory = batches.fire(10)
    for at, key in enumerate(keys):
        batches.queue.register(10, key)
        if at == len(keys) // 2:
            batches.cut()
    assert batches.fire(10) == in_memory
    assert len(in_memory) == len(keys)


@pytest.mark.parametrize("seed", range(30))
def test_timers_that_stay_in_memory_are_those_that_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    draw = random.Random(seed)
    monkeypatch.setattr(timers, "_KEPT", draw.choice([3, 20, 1000]))
    monkeypatch.setattr(timers, "_LARGEST_BLOCK", draw.choice([1, 4, 64]))
    monkeypatch.setattr(timers, "_FIRST_BLOCK", draw.choice([1, 2]))
    monkeypatch.setattr(timers, "_FEW", draw.choice([0, 64]))
    batches, truth, now = Batches(tmp_path / "local"), set[tuple[int, int]](), 0
    spread = draw.choice([3, 30])
    for _ in range(400):
        step, timer = draw.random(), (now + 1 + draw.randrange(spread), draw.randrange(4))
        if step < 0.5:
            batches.queue.register(*timer)
            truth.add(timer)
        elif step < 0.65:
            batches.queue.delete(*timer)
            truth.discard(timer)
        elif step < 0.85:
            now += draw.randrange(4)
            due = {timer for timer in truth if timer[0] <= now}
            fired = batches.fire(now)
            assert [time for time, _ in fired] == sorted(time for time, _ in due)
            assert set(fired) == due
            truth -= due
        else:
            batches.cut()
            if draw.random() < 0.2:
                batches.queue.forget()
                batches.queue.begin()
    left = batches.queue.pending()
    assert len(left) == len(truth)
    assert set(left) == truth
    batches.local.close()


def test_a_timer_is_stored_and_not_read_again(batches: Batches) -> None:
    for time in range(100):
        batches.queue.register(time, 1)
    batches.cut()
    read = batches.local.scan
    batches.local.scan = lambda *args: pytest.fail(f"read {args}")  # type: ignore[method-assign]
    assert batches.fire(50) == [(time, 1) for time in range(51)]
    batches.cut()
    assert batches.fire(99) == [(time, 1) for time in range(51, 100)]
    batches.local.scan = read  # type: ignore[method-assign]
    batches.cut()
    assert batches.queue.pending() == []
