"""State that a copy of the process writes while the slot goes on, against a plain dict."""

from __future__ import annotations

import copy
import errno
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from scurry.checkpoint.file_journal import FileJournal, StoredHead
from scurry.common.errors import JobError, StateError
from scurry.engine.live.copies import NoCopy, SlotCopy, can_be_copied
from scurry.runtime.envelope import Envelope
from scurry.runtime.timers import TimerQueue
from scurry.state.journal import Journal
from scurry.state.local.disk import LocalStore
from scurry.state.local.memory import MemoryStore
from scurry.state.local.store import Store
from scurry.state.slot_parts import Outcome
from scurry.state.slot_store import SlotStore
from scurry.state.tables.broadcast_table import BroadcastTable
from scurry.state.tables.key_scope import KeyScope
from scurry.state.tables.list_table import ListTable, TableListState
from scurry.state.tables.map_table import MapTable, TableMapState
from scurry.state.tables.table import TableValueState


class Slot:
    """A slot with one state and one queue of timers, in a process of its own. As a host, it is one
    that has nothing but its store."""

    stage, slot = 1, 0

    def __init__(self, root: Path, attempt: int, stored: StoredHead | None, **given: Any) -> None:
        local: Store = given.pop("local", None) or LocalStore(root / "local", runs_above=4)
        self.store = SlotStore(local, 128, small_log=200, **given)
        self.journal = FileJournal(root / "log", root / "runs", f"attempt{attempt}", stored)
        self.store.begin(self.journal)
        self.scope = KeyScope()
        self.table = self.store.table("op", "v", bulk=True)
        self.value = TableValueState(self.table, self.scope)
        made = self.store.records, 128
        shared: dict[str, Any] = {"cache": self.store.cache, "bulk": True}
        self.maps = self.store.part("op\x1fm", lambda: MapTable("op\x1fm", *made, **shared))
        self.map = TableMapState(self.maps, self.scope)
        epoch = partial(getattr, self.store, "epoch")
        self.lists = self.store.part(
            "op\x1fl", lambda: ListTable("op\x1fl", *made, epoch, **shared)
        )
        self.list = TableListState(self.lists, self.scope)
        self.rules = self.store.part(
            "op\x1fr", lambda: BroadcastTable("op\x1fr", self.store.reader)
        )
        self.queue = self.store.part("op#t", lambda: TimerQueue("op#t", local, 128))
        self.queue.begin()

    @property
    def host(self) -> Any:
        return self

    def write(self, journal: Journal) -> Iterator[Envelope]:
        self.store.commit(journal, b"notes")
        # as a host does, it looks at the store after the commit
        told = b"%d" % self.store.entries
        yield Envelope(0, 0, "written", 0, "", 0, 0, 0, told)

    def freeze(self) -> None:
        self.store.freeze()

    def thaw(self, journal: Journal, outcome: Outcome) -> None:
        self.store.thaw(journal, outcome)


def wait_for(working: SlotCopy) -> list[Envelope]:
    while (told := working.take()) is None:
        time.sleep(0.001)
    return told


class Program:
    """Random steps. Whatever goes on while a copy writes, what it writes is what was true when it
    was made."""

    def __init__(self, root: Path, seed: int) -> None:
        self.random = Random(seed)
        self.root = root
        self.truth: dict[int, Any] = {}
        self.timers: set[tuple[int, int]] = set()
        self.maps: dict[int, dict[Any, Any]] = {}
        self.lists: dict[int, list[Any]] = {}
        self.rules: dict[int, Any] = {}
        #: what the last epoch has, and what was true then
        self.epoch: tuple[StoredHead | None, Any] = (None, copy.deepcopy(self.everything))
        self.working: tuple[SlotCopy, Any] | None = None
        self.attempts = self.copies = 0
        self.start()

    @property
    def everything(self) -> Any:
        return self.truth, self.timers, self.maps, self.lists, self.rules

    def start(self) -> None:
        """A fresh process."""
        self.attempts += 1
        self.slot = Slot(self.root, self.attempts, self.epoch[0], cache=4)

    def step(self) -> None:
        often = (self.update, self.clear, self.change_in_place, self.read, self.announce)
        timers = (self.set_timer, self.set_timer, self.delete_timer, self.fire)
        maps = (self.put, self.put, self.remove, self.get_entry, self.change_entry, self.list_map)
        lists = (self.append, self.append, self.replace, self.get_list, self.change_element)
        others = (self.clear_map, self.set_rule, self.set_rule, self.remove_rule, self.list_rules)
        seldom = (self.complete, self.complete, self.list_all, self.write_itself, self.crash)
        marks = [self.mark] * 4
        states = (*often, *often, *timers, *timers, *maps, *maps, *lists, *lists, *others)
        self.random.choice((*states, *marks, *seldom))()

    def key(self) -> int:
        self.slot.scope.key = self.random.randrange(8)
        return self.slot.scope.key

    def time(self) -> int:
        return self.random.randrange(6)

    def update(self) -> None:
        key, value = self.key(), self.random.choice([5, "x", [], [7], [8, 9]])
        self.slot.value.update(copy.deepcopy(value))
        self.truth[key] = value

    def clear(self) -> None:
        self.truth.pop(self.key(), None)
        self.slot.value.clear()

    def change_in_place(self) -> None:
        key = self.key()
        found = self.slot.value.value()
        if isinstance(found, list):
            found.append(1)
            self.truth[key] = [*self.truth[key], 1]

    def announce(self) -> None:
        self.slot.store.prefetch("op", self.random.sample(range(8), 3))

    def read(self) -> None:
        key = self.key()
        assert self.slot.value.value() == self.truth.get(key)

    def list_all(self) -> None:
        assert dict(self.slot.table.items()) == self.truth
        assert dict(self.slot.maps.items()) == {k: v for k, v in self.maps.items() if v}
        assert dict(self.slot.lists.items()) == {k: v for k, v in self.lists.items() if v}
        self.list_rules()

    def value(self) -> Any:
        return self.random.choice([5, "x", None, [], [7]])

    def put(self) -> None:
        key, entry, value = self.key(), self.time(), self.value()
        self.slot.map.put(entry, copy.deepcopy(value))
        self.maps.setdefault(key, {})[entry] = value

    def remove(self) -> None:
        key, entry = self.key(), self.time()
        self.slot.map.remove(entry)
        self.maps.get(key, {}).pop(entry, None)

    def get_entry(self) -> None:
        key, entry = self.key(), self.time()
        assert self.slot.map.contains(entry) == (entry in self.maps.get(key, {}))
        assert self.slot.map.get(entry) == self.maps.get(key, {}).get(entry)

    def change_entry(self) -> None:
        key, entry = self.key(), self.time()
        found = self.slot.map.get(entry)
        if isinstance(found, list):
            found.append(1)
            self.maps[key][entry] = [*self.maps[key][entry], 1]

    def list_map(self) -> None:
        key = self.key()
        assert dict(self.slot.map.items()) == self.maps.get(key, {})

    def clear_map(self) -> None:
        self.maps.pop(self.key(), None)
        self.slot.map.clear()

    def append(self) -> None:
        key, value = self.key(), self.value()
        self.slot.list.add(copy.deepcopy(value))
        self.lists.setdefault(key, []).append(value)

    def replace(self) -> None:
        key, values = self.key(), [self.value() for _ in range(self.random.randrange(3))]
        self.slot.list.update(copy.deepcopy(values))
        self.lists[key] = values

    def get_list(self) -> None:
        key = self.key()
        assert self.slot.list.get() == self.lists.get(key, [])

    def change_element(self) -> None:
        key = self.key()
        for at, found in enumerate(self.slot.list.get()):
            if isinstance(found, list):
                found.append(1)
                self.lists[key][at] = [*self.lists[key][at], 1]

    def set_rule(self) -> None:
        name, value = self.time(), self.value()
        self.slot.rules.put(name, copy.deepcopy(value))
        self.rules[name] = value

    def remove_rule(self) -> None:
        name = self.time()
        self.slot.rules.remove(name)
        self.rules.pop(name, None)

    def list_rules(self) -> None:
        assert dict(self.slot.rules.items()) == self.rules

    def set_timer(self) -> None:
        at, key = self.time(), self.key()
        self.slot.queue.register(at, key)
        self.timers.add((at, key))

    def delete_timer(self) -> None:
        at, key = self.time(), self.key()
        self.slot.queue.delete(at, key)
        self.timers.discard((at, key))

    def fire(self) -> None:
        until, fired = self.time(), []
        while (due := self.slot.queue.pop_due(until)) is not None:
            fired.append(due)
        assert [at for at, _ in fired] == sorted(at for at, _ in fired)
        assert sorted(fired) == sorted(timer for timer in self.timers if timer[0] <= until)
        self.timers.difference_update(fired)

    def mark(self) -> None:
        if self.working is None and can_be_copied(self.slot.host, self.slot.journal, 0):
            held = copy.deepcopy(self.everything)
            self.working = SlotCopy(self.slot.host, self.slot.journal), held
            self.copies += 1

    def complete(self) -> None:
        """The copy has written all, and the epoch is written."""
        if self.working is None:
            return
        (working, held), self.working = self.working, None
        assert [each.dest for each in wait_for(working)] == ["written"]
        self.epoch = self.slot.journal.stored, held
        while self.slot.store.shed():
            pass
        assert sorted(self.slot.queue.pending()) == sorted(self.timers)

    def write_itself(self) -> None:
        if self.working is None:
            list(self.slot.write(self.slot.journal))
            self.slot.store.begin(self.slot.journal)
            self.slot.queue.begin()
            self.epoch = self.slot.journal.stored, copy.deepcopy(self.everything)

    def crash(self) -> None:
        """The task dies, perhaps when the copy has written all that no epoch names."""
        if self.working is not None:
            if self.random.random() < 0.5:
                wait_for(self.working[0])
            self.working[0].give_up()
            self.working = None
        self.slot.store.close()
        held = copy.deepcopy(self.epoch[1])
        self.truth, self.timers, self.maps, self.lists, self.rules = held
        self.start()
        self.list_all()
        assert sorted(self.slot.queue.pending()) == sorted(self.timers)


@pytest.mark.parametrize("seed", range(4))
def test_random_programs(tmp_path: Path, seed: int) -> None:
    program = Program(tmp_path, seed)
    for _ in range(700):
        program.step()
    program.complete()
    program.list_all()
    program.slot.store.close()
    assert program.copies > 10


@pytest.fixture
def slot(tmp_path: Path) -> Iterator[Slot]:
    made = Slot(tmp_path, 1, None)
    yield made
    made.store.close()


def fill(slot: Slot, values: dict[int, Any]) -> None:
    for slot.scope.key, value in values.items():
        slot.value.update(value)


def test_an_object_that_changes_later_is_written_as_it_was(slot: Slot, tmp_path: Path) -> None:
    """Also if the function has kept it, and does not ask the state for it."""
    kept = [1]
    fill(slot, {1: kept, 2: 2})
    working = SlotCopy(slot.host, slot.journal)
    kept.append(2)
    wait_for(working)
    assert dict(Slot(tmp_path, 2, slot.journal.stored, local=MemoryStore()).table.items()) == {
        1: [1],
        2: 2,
    }


def test_what_changes_in_place_meanwhile_is_in_the_next_checkpoint(
    slot: Slot, tmp_path: Path
) -> None:
    fill(slot, {1: [1], 2: 2})
    working = SlotCopy(slot.host, slot.journal)
    slot.scope.key = 1
    slot.value.value().append(2)
    wait_for(working)
    assert dict(Slot(tmp_path, 2, slot.journal.stored, local=MemoryStore()).table.items()) == {
        1: [1],
        2: 2,
    }
    wait_for(SlotCopy(slot.host, slot.journal))
    assert dict(Slot(tmp_path, 3, slot.journal.stored, local=MemoryStore()).table.items()) == {
        1: [1, 2],
        2: 2,
    }


def test_a_copy_that_dies_makes_the_task_fail(slot: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(_: Journal) -> Iterator[Envelope]:
        os.kill(os.getpid(), signal.SIGKILL)
        yield from ()

    fill(slot, {1: 1})
    monkeypatch.setattr(slot, "write", die)
    with pytest.raises(JobError, match=r"slot 0 of stage 1 has ended .* signal SIGKILL") as failure:
        wait_for(SlotCopy(slot.host, slot.journal))
    assert "execution.live.snapshot-above: -1" in str(failure.value)


def test_a_copy_that_takes_too_long_is_given_up(
    slot: Slot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sleep(_: Journal) -> Iterator[Envelope]:
        time.sleep(60)
        yield from ()

    fill(slot, {1: 1})
    monkeypatch.setattr(slot, "write", sleep)
    monkeypatch.setattr("scurry.engine.live.copies._MOST_SECONDS", 0.0)
    with pytest.raises(JobError, match="has not come to an end within 0 s"):
        wait_for(SlotCopy(slot.host, slot.journal))


def test_what_cannot_be_written_fails_as_it_does_in_the_task(slot: Slot) -> None:
    fill(slot, {1: (each for each in [1])})
    with pytest.raises(StateError, match="In operator 'op', state 'v'"):
        wait_for(SlotCopy(slot.host, slot.journal))


def test_a_slot_that_cannot_be_frozen_writes_itself(slot: Slot, tmp_path: Path) -> None:
    fill(slot, {1: 1})
    assert can_be_copied(slot.host, slot.journal, 1)
    assert not can_be_copied(slot.host, slot.journal, 3)
    in_memory = Slot(tmp_path / "other", 1, None, local=MemoryStore())
    fill(in_memory, {1: 1})
    assert not can_be_copied(in_memory.host, in_memory.journal, 1)


@pytest.mark.parametrize("killed", [False, True])
def test_copies_without_number_do_not_cost_the_local_store(slot: Slot, killed: bool) -> None:
    """Each reads it, and there is room for 64 processes that do."""
    for number in range(70):
        if killed:
            # it has opened the store, and does not come to closing it
            in_copy(slot, slot.store.local.reopen)
            slot.store.local.begin()
        else:
            fill(slot, {1: number})
            wait_for(SlotCopy(slot.host, slot.journal))
    fill(slot, {1: "last"})
    wait_for(SlotCopy(slot.host, slot.journal))
    assert slot.store.rebuilds == 0


def test_another_process_that_has_written_to_the_local_store_is_noticed(
    slot: Slot, tmp_path: Path
) -> None:
    """What it has written must not be read instead of what was there."""
    fill(slot, {1: 1})
    list(slot.write(slot.journal))
    slot.store.begin(slot.journal)
    fill(slot, {2: 2})

    def write_too() -> None:
        slot.store.local.reopen()
        fill(slot, {1: "of an earlier attempt"})
        slot.store.commit(FileJournal(tmp_path / "log", tmp_path / "runs", "other", None), b"")

    in_copy(slot, write_too)
    with pytest.raises(JobError, match="was changed by another process while a checkpoint"):
        SlotCopy(slot.host, slot.journal)


def in_copy(slot: Slot, work: Callable[[], None]) -> None:
    """Do something in a copy of this process."""
    slot.store.local.prepare_copy()
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def test_a_copy_leaves_the_task_among_the_readers_of_its_store(slot: Slot) -> None:
    """Or whoever writes to the store would not know which pages are being read."""
    fill(slot, {1: 1})
    wait_for(SlotCopy(slot.host, slot.journal))
    fill(slot, {1: 2})
    working = SlotCopy(slot.host, slot.journal)
    env = slot.store.local._environment
    while working.take() is None:
        assert str(os.getpid()) in env.readers()
    assert str(os.getpid()) in env.readers()


def test_a_copy_does_not_write_the_state_of_another_store(
    slot: Slot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as one that it has found empty, because the files were deleted: what a table that
    becomes a run takes along is read from the store."""
    fill(slot, dict.fromkeys(range(10), 1))
    wait_for(SlotCopy(slot.host, slot.journal))
    fill(slot, {11: 1})
    reopen = slot.store.reopen

    def late() -> None:
        for place in (tmp_path / "local").glob("g-*"):
            shutil.rmtree(place)
        reopen()

    monkeypatch.setattr(slot.store, "reopen", late)
    with pytest.raises(JobError, match="was changed by another process while a checkpoint"):
        wait_for(SlotCopy(slot.host, slot.journal))


def test_a_task_writes_itself_where_the_system_makes_no_copy(
    slot: Slot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> int:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    fill(slot, {1: 1})
    with monkeypatch.context() as patched:
        patched.setattr(os, "fork", refused)
        with pytest.raises(NoCopy, match="Cannot allocate memory"):
            SlotCopy(slot.host, slot.journal)
    list(slot.write(slot.journal))
    slot.store.begin(slot.journal)
    assert dict(slot.table.items()) == {1: 1}
    assert slot.store.rebuilds == 0
