"""Maps and lists in runs: as parts of the checkpoint, read ahead, cleared, rescaled, moved."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scurry.common.errors import StateError
from scurry.runtime.report import encode_report
from scurry.runtime.rescaling import redeal_in_memory, rule_of
from scurry.state.inventory import uid_of_table
from scurry.state.journal import MemoryJournal
from scurry.state.local.disk import LocalStore
from scurry.state.rescaling import Deal, Place
from scurry.state.runs.runs import RunTable
from scurry.state.slot_store import SlotStore
from scurry.state.tables import read_ahead
from scurry.state.tables.key_scope import KeyScope
from scurry.state.tables.list_table import ListTable, TableListState
from scurry.state.tables.map_table import MapTable, TableMapState

MAP, LIST = "op\x1fm", "op\x1fl"


class Slot:
    """A map and a list for each key, which lie in runs from the start."""

    def __init__(self, path: Path, journal: MemoryJournal, runs_above: int = 0) -> None:
        self.journal = journal
        self.store = SlotStore(LocalStore(path, runs_above), 128, cache=10)
        self.scope = KeyScope()
        self.begin()

    def begin(self) -> None:
        store = self.store
        store.begin(self.journal)
        made = store.records, 128
        maps = store.part(MAP, lambda: MapTable(MAP, *made, cache=10, bulk=True))
        lists = store.part(
            LIST, lambda: ListTable(LIST, *made, lambda: store.epoch, cache=10, bulk=True)
        )
        self.map, self.list = TableMapState(maps, self.scope), TableListState(lists, self.scope)

    def commit(self) -> None:
        self.store.commit(self.journal, b"")
        self.begin()

    def add(self, keys: Any, entry: Any, value: Any) -> None:
        """Put an entry into the maps of ``keys``, and append it to their lists."""
        for self.scope.key in keys:
            self.map.put(entry, value)
            self.list.add((entry, value))

    def held(self) -> dict[Any, Any]:
        """What there is, listed and read key by key."""
        maps, lists = (dict(self.store.listed("op", name).items()) for name in "ml")
        self.store.prefetch("op", [*maps, "nobody"])
        for self.scope.key in maps:
            assert dict(self.map.items()) == maps[self.scope.key]
            assert self.list.get() == lists[self.scope.key]
        assert maps.keys() == lists.keys()
        return {key: (maps[key], lists[key]) for key in maps}


def fill(slot: Slot, keys: int = 40) -> dict[Any, Any]:
    """Six commits; each of them adds an entry to fewer keys."""
    for number in range(6):
        slot.add(range(number * 5, keys), number, f"{number}")
        slot.commit()
    truth = {}
    for key in range(keys):
        entries = {number: f"{number}" for number in range(6) if key >= number * 5}
        truth[key] = entries, list(entries.items())
    return truth


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-3])


@pytest.mark.parametrize("suffix", ["prefixes", "keys", "ends", "data", "places"])
@pytest.mark.parametrize("damage", [cut, Path.unlink])
def test_damage_to_the_checkpoint_is_told(
    tmp_path: Path, suffix: str, damage: Callable[[Path], None]
) -> None:
    slot = Slot(tmp_path / "local", MemoryJournal(tmp_path / "checkpoint"))
    fill(slot)
    damage(next((tmp_path / "checkpoint").glob(f"*.{suffix}")))
    with pytest.raises(StateError, match="The checkpoint is damaged"):
        Slot(tmp_path / "local", slot.journal)


def test_another_machine_reads_them_where_they_are(tmp_path: Path) -> None:
    slot = Slot(tmp_path / "first", MemoryJournal(tmp_path / "checkpoint"))
    truth = fill(slot)
    assert slot.held() == truth
    assert sum(map(len, slot.journal.entries.values())) < 300, "the log has nothing of them"
    other = Slot(tmp_path / "second", slot.journal, runs_above=10**9)
    assert {MAP, LIST} == set(other.store.records.large_tables)
    assert other.held() == truth
    assert other.store.entries == 2 * sum(len(entries) for entries, _ in truth.values())
    other.add([3], "new", 1)
    other.commit()
    truth[3][0]["new"] = 1
    truth[3][1].append(("new", 1))
    assert other.held() == truth


def test_a_commit_that_does_not_come_about_leaves_what_was(tmp_path: Path) -> None:
    journal = MemoryJournal(tmp_path / "checkpoint")
    truth = fill(Slot(tmp_path / "local", journal))
    for attempt in range(5):
        before = copy.deepcopy(journal)
        lost = Slot(tmp_path / "local", journal)
        lost.add(range(attempt * 5, 40), 1, "lost")
        lost.scope.key = 39
        lost.map.clear()
        lost.list.clear()
        if attempt % 2:
            lost.commit()
        else:
            lost.store.commit(journal, b"")
        journal = before
        assert Slot(tmp_path / "local", journal).held() == truth


def test_a_table_moves_when_it_has_grown(tmp_path: Path) -> None:
    slot = Slot(tmp_path / "local", MemoryJournal(), runs_above=60)
    truth: dict[Any, Any] = {}
    for number in range(6):
        for key in range(10):
            entries = truth.setdefault(key, ({}, []))
            entries[0][number] = number
            entries[1].append((number, number))
        slot.add(range(10), number, number)
        slot.commit()
        assert slot.store.records.in_runs(MAP) == (number >= 3), "there were 60 records"
    assert slot.held() == truth
    assert Slot(tmp_path / "elsewhere", slot.journal).held() == truth
    assert sum(map(len, slot.journal.entries.values())) < 2000, "the log has let go of them"


@pytest.mark.parametrize("slots", [1, 3])
def test_they_stay_in_runs_when_a_job_is_rescaled(tmp_path: Path, slots: int) -> None:
    slot = Slot(tmp_path / "local", MemoryJournal(tmp_path / "checkpoint"))
    truth = fill(slot)
    uid = uid_of_table(MAP)
    assert uid == uid_of_table(LIST)
    deal = Deal(slots, 128, {}, rule_of, {uid: 1}, 1)
    slot.store.commit(slot.journal, encode_report({"gates": {}, "cells": {}, "stage": 0}))
    journals = redeal_in_memory({Place(1, 0): slot.journal}, deal, {})
    found: dict[Any, Any] = {}
    for number, journal in enumerate(journals.values()):
        share = Slot(tmp_path / str(number), journal)
        assert {MAP, LIST} == set(share.store.records.large_tables)
        share.add(share.held(), "after", 0)
        share.commit()
        found.update(share.held())
    for entries, elements in truth.values():
        entries["after"] = 0
        elements.append(("after", 0))
    assert found == truth, "what is appended after rescaling comes last"


def test_commits_that_change_nothing_else_keep_the_order_of_lists(tmp_path: Path) -> None:
    slot = Slot(tmp_path / "local", MemoryJournal())
    slot.scope.key = "k"
    for number in range(12):
        slot.list.add(number)
        slot.commit()
    assert slot.list.get() == list(range(12))


def test_a_large_map_is_cleared_by_one_change_and_stays_empty(tmp_path: Path) -> None:
    slot = Slot(tmp_path / "local", MemoryJournal())
    for part in range(3):
        for slot.scope.key in ("large", "other"):
            slot.map.put_all(dict.fromkeys(range(part * 500, part * 700 + 800), part))
        slot.commit()
    slot.scope.key = "large"
    slot.map.clear()
    slot.map.put(5, "kept")
    (group,) = slot.store.listed("op", "m").changes()  # type: ignore[attr-defined]
    assert len(group[1]) == 2, "the key, and what was put after it was cleared"
    for _ in range(2):
        slot.commit()
        assert dict(slot.map.items()) == {5: "kept"}
        assert slot.map.get(900) is None
        assert slot.store.entries == 1 + 2200
    slot.scope.key = "other"
    assert len(slot.map.items()) == 2200


def test_one_entry_of_a_large_map_does_not_read_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slot = Slot(tmp_path / "local", MemoryJournal())
    slot.scope.key = "large"
    slot.map.put_all({entry: -entry for entry in range(3000)})
    slot.commit()
    read: list[int] = []
    below = RunTable.below

    def counted(table: RunTable, prefixes: list[bytes], *limits: Any) -> Any:
        found = below(table, prefixes, *limits)
        read.append(len(found.records))
        return found

    monkeypatch.setattr(RunTable, "below", counted)
    monkeypatch.setattr(read_ahead, "_WORTH", 10)
    slot.store.prefetch("op", ["large"])
    slot.scope.key = "large"
    assert [slot.map.get(entry) for entry in (7, 2999, 3000)] == [-7, -2999, None]
    assert sum(read) == 0
    assert [slot.map.get(entry) for entry in range(400)] == [-entry for entry in range(400)]
    assert sum(read) == 3000, "looking up one by one would take longer"


@pytest.mark.parametrize("keys", [1, 7, 1000])
@pytest.mark.parametrize("held", [0, 20, 10**6])
def test_keys_are_read_ahead_in_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: int, held: int
) -> None:
    """However many are read at a time, and however little is kept; asked for in the order that was
    announced, in another, again, or without having been announced."""
    monkeypatch.setattr(read_ahead, "_KEYS", keys)
    monkeypatch.setattr(read_ahead, "_HELD", held)
    monkeypatch.setattr(read_ahead, "_ROWS", 30)
    slot = Slot(tmp_path / "local", MemoryJournal())
    truth = fill(slot)
    slot.store.prefetch("op", [*range(10, 30), *range(15)])
    slot.store.prefetch("op", [*range(25, 20, -1), 3, 3])
    for slot.scope.key in (10, 11, 25, 24, 3, 10, 39, 29, 11, 3, *range(12, 25)):
        entries, elements = truth[slot.scope.key]
        assert [slot.map.get(entry) for entry in range(6)] == [entries.get(e) for e in range(6)]
        assert slot.list.get() == elements


def test_what_is_not_read_is_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slot = Slot(tmp_path / "local", MemoryJournal())
    fill(slot)
    monkeypatch.setattr(RunTable, "below", lambda *given: pytest.fail("nothing has to be read"))
    slot.store.prefetch("op", list(range(40)))
    slot.add(range(40), "blind", 1)
    slot.commit()


@pytest.mark.parametrize("runs_above", [0, 10**9])
def test_what_was_written_before_a_map_was_cleared_is_gone(tmp_path: Path, runs_above: int) -> None:
    """Also if it is looked for afterwards, or written anew."""
    slot = Slot(tmp_path / "local", MemoryJournal(), runs_above)
    for slot.scope.key in ("a", "b"):
        slot.map.put_all({"stored": 1, "again": 1})
    slot.commit()
    for slot.scope.key in ("a", "b"):
        slot.map.put("written", 2)
        slot.map.put("again", 2)
    slot.scope.key = "a"
    slot.map.clear()
    assert slot.map.get("written") is None
    slot.map.put("again", 3)
    for _ in range(2):
        slot.scope.key = "a"
        assert dict(slot.map.items()) == {"again": 3}
        slot.scope.key = "b"
        assert dict(slot.map.items()) == {"stored": 1, "written": 2, "again": 2}
        slot.commit()
    assert slot.store.entries == 4


def test_small_maps_that_are_read_ahead_are_those_that_were_written(tmp_path: Path) -> None:
    """Entries of any type and length, values that change in place, and maps that were written to
    or cleared before anything of them was read."""
    slot = Slot(tmp_path / "local", MemoryJournal(tmp_path / "checkpoint"))
    long = "x" * 600
    truth: dict[Any, dict[Any, Any]] = {}
    for key in range(20):
        truth[key] = {(key, 1.5): [key], long: key, 7: "seven"}
        slot.scope.key = key
        slot.map.put_all(copy.deepcopy(truth[key]))
    slot.commit()
    slot.store.prefetch("op", list(range(22)))
    slot.scope.key = 3
    slot.map.put(7, "other")
    slot.scope.key = 4
    slot.map.clear()
    truth[3][7], truth[4] = "other", {}
    for key in range(20):
        slot.scope.key = key
        if key != 4:
            assert slot.map.get((key, 1.5)) == [key]
            slot.map.get((key, 1.5)).append("more")
            truth[key][(key, 1.5)].append("more")
        assert slot.map.get(long) == truth[key].get(long)
        assert slot.map.get("nothing") is None
    slot.scope.key = 21
    assert slot.map.is_empty()
    slot.commit()
    for key in range(20):
        slot.scope.key = key
        assert slot.map.get(long) == truth[key].get(long), "looked up by itself"
        assert dict(slot.map.items()) == truth[key]
