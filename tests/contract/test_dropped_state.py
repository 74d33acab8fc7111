"""State of an operator that is dropped is gone, in every kind of store, and for good."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from tests.contract._slots import SETTINGS

from scurry.runtime.report import encode_report
from scurry.runtime.rescaling import redeal_in_memory, rule_of
from scurry.state.journal import MemoryJournal, unpack_groups
from scurry.state.rescaling import Deal, Place
from scurry.state.slot_store import SlotStore
from scurry.state.states import ValueStateDescriptor
from scurry.state.tables.table import KeyScope, TableValueState

NOTES = encode_report({"gates": {}, "cells": {}, "stage": 1})
KEYS = [f"key {number}" for number in range(200)]


class Slot:
    """A slot in which operators have a table each."""

    def __init__(self, path: Path, backend: str) -> None:
        self.path = path
        self.backend = backend
        self.local: Any = SETTINGS[backend].local_store(path)
        self.journal = MemoryJournal()
        self.restart()

    def restart(self, lose_local_state: bool = False) -> None:
        if lose_local_state:
            self.local.reset()
        self.store = SlotStore(self.local, 128, small_log=1)

    def run(self, values: dict[str, Any], drop: tuple[str, ...] = (), commit: bool = True) -> None:
        """A micro-batch that drops some operators and writes values for others."""
        self.store.begin(self.journal)
        if drop:
            self.store.drop(drop, self.journal)
        for uid, value in values.items():
            self.write(uid, dict.fromkeys(KEYS, value))
        if commit:
            self.store.commit(self.journal, NOTES)

    def write(self, uid: str, values: dict[str, Any]) -> None:
        self.store.schemas.open(f"{uid}\x1fs", ValueStateDescriptor("s"))
        scope = KeyScope()
        state = TableValueState(self.store.table(uid, "s", bulk=True), scope)
        for scope.key, value in values.items():
            state.update(value)

    def held(self, uid: str) -> dict[Any, Any]:
        self.restart()
        self.store.begin(self.journal)
        return dict(self.store.table(uid, "s", bulk=True).items())


@pytest.fixture(params=list(SETTINGS))
def slot(request: pytest.FixtureRequest, tmp_path: Path) -> Slot:
    made = Slot(tmp_path, request.param)
    made.run({"old": 1, "kept": 1})
    made.run({"old": 2, "kept": 2})
    made.restart()
    return made


def test_it_is_gone_at_once_and_stays_gone(slot: Slot) -> None:
    slot.store.begin(slot.journal)
    slot.store.drop({"old"}, slot.journal)
    assert not dict(slot.store.table("old", "s", bulk=True).items())
    slot.store.commit(slot.journal, NOTES)
    for lose in (False, True):
        slot.restart(lose_local_state=lose)
        assert slot.held("old") == {}
        assert slot.held("kept") == dict.fromkeys(KEYS, 2)


def test_until_the_commit_nothing_has_happened(slot: Slot) -> None:
    slot.run({"kept": 3}, drop=("old",), commit=False)
    assert slot.held("old") == dict.fromkeys(KEYS, 2)
    assert slot.held("kept") == dict.fromkeys(KEYS, 2)


def test_what_is_written_under_the_uid_again_is_all_there_is(slot: Slot) -> None:
    slot.run({"kept": 3}, drop=("old",))
    slot.store.begin(slot.journal)
    slot.write("old", {"key 1": 9})
    slot.store.commit(slot.journal, NOTES)
    for lose in (False, True):
        slot.restart(lose_local_state=lose)
        assert slot.held("old") == {"key 1": 9}


def test_it_may_be_dropped_and_written_in_one_micro_batch(slot: Slot) -> None:
    slot.store.begin(slot.journal)
    slot.store.drop({"old"}, slot.journal)
    slot.write("old", {"key 7": 5})
    slot.store.commit(slot.journal, NOTES)
    for lose in (False, True):
        slot.restart(lose_local_state=lose)
        assert slot.held("old") == {"key 7": 5}


def test_it_does_not_come_back_with_another_parallelism(slot: Slot) -> None:
    slot.run({}, drop=("old",))
    deal = Deal(3, 128, {}, rule_of, {"old": 1, "kept": 1}, 1)
    found: dict[str, dict[Any, Any]] = {"old": {}, "kept": {}}
    dealt = redeal_in_memory({Place(1, 0): slot.journal}, deal, {})
    for number, journal in enumerate(dealt.values()):
        other = Slot(slot.path / str(number), slot.backend)
        other.journal = journal
        for uid, held in found.items():
            held.update(other.held(uid))
    assert found == {"old": {}, "kept": dict.fromkeys(KEYS, 2)}


def test_nothing_of_it_is_left_in_the_log_and_in_files(slot: Slot) -> None:
    slot.run({"kept": 3}, drop=("old",))
    for value in range(4, 12):
        slot.run({"kept": value})
    slot.restart(lose_local_state=True)
    head = slot.journal.head()
    assert head is not None
    assert head.gone == {}
    assert not [name for name in head.runs if name.startswith("old")]
    logged = [unpack_groups(slot.journal.read(seq)) for seq in range(head.first, head.next)]
    assert not [g for groups in logged for g in groups if g[0].startswith("old") and any(g[2])]


def test_a_slot_tells_once_what_it_has_written_to(slot: Slot) -> None:
    slot.run({"kept": 3})
    assert slot.store.take_written() == {"kept\x1fs": "ValueState"}
    before = copy.deepcopy(slot.journal)
    slot.run({"kept": 4})
    assert slot.store.take_written() == {}
    # a commit that never came about may have been the one that told
    slot.journal = before
    slot.run({"kept": 5})
    assert slot.store.take_written() == {"kept\x1fs": "ValueState"}
