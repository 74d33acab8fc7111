"""A slot that goes from machine to machine, with its journal in files, has the state of its last
commit wherever it is, also after attempts that did not count."""

from __future__ import annotations

import multiprocessing
import random
from collections import Counter
from pathlib import Path

import pytest

from scurry.checkpoint.file_journal import FileJournal, StoredHead
from scurry.state.backends import StateSettings
from scurry.state.local.store import Commit
from scurry.state.slot_store import SlotStore
from scurry.state.tables.table import KeyScope, TableValueState


class Machine:
    """One of the machines, and what its process keeps of the slot."""

    def __init__(self, place: Path, name: str, settings: StateSettings) -> None:
        (place / name).mkdir()
        self.store: SlotStore = settings.slot_store(settings.local_store(place / name), 128)
        self.scope = KeyScope()
        self.journal: FileJournal | None = None
        self.reads = Counter[str]()

    def begin(self, place: Path, token: str, stored: StoredHead | None) -> TableValueState[int]:
        """Take the slot over as the last commit knows it."""
        before = None if self.journal is None else self.journal.stored
        self.journal = FileJournal(place / "log", place / "runs", token, stored, before)
        read = self.journal.read

        def counted(seq: int) -> bytes:
            self.reads["entries"] += 1
            return read(seq)

        self.journal.read = counted  # type: ignore[method-assign]
        self.store.begin(self.journal)
        return TableValueState(self.store.table("op", "value"), self.scope)


@pytest.mark.parametrize("seed", range(8))
def test_state_is_that_of_the_last_commit(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    # small enough that the log is compacted again and again
    settings = StateSettings("memory", compact_above=chance.choice([500, 20_000]))
    machines = [Machine(tmp_path, name, settings) for name in "ab"]
    expected: dict[int, int] = {}
    stored: StoredHead | None = None
    for turn in range(120):
        machine = chance.choice(machines)
        state = machine.begin(tmp_path, f"t{turn}", stored)
        made = dict(expected)
        for key in range(30):
            machine.scope.key = key
            assert state.value() == expected.get(key), (turn, key)
        for _ in range(chance.randrange(4)):
            machine.scope.key = key = chance.randrange(30)
            if chance.random() < 0.3:
                state.clear()
                made.pop(key, None)
            else:
                made[key] = turn
                state.update(turn)
        machine.store.commit(machine.journal, b"%d" % (turn // 3))
        if chance.random() < 0.8:
            assert machine.journal is not None
            expected, stored = made, machine.journal.stored
    for machine in machines:
        machine.store.close()


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    settings = StateSettings("memory")
    here, there = (Machine(tmp_path, name, settings) for name in "ab")
    stored = None
    for turn in range(50):
        machine = there if turn % 10 == 9 else here
        state = machine.begin(tmp_path, f"t{turn}", stored)
        machine.scope.key = turn
        state.update(turn)
        machine.store.commit(machine.journal, b"")
        assert machine.journal is not None
        stored = machine.journal.stored
    # each entry that the other machine has written, once
    assert here.reads["entries"] == 4
    assert there.reads["entries"] == 45
    assert (here.store.rebuilds, there.store.rebuilds) == (0, 1)


def test_a_store_that_another_process_writes_to_while_it_catches_up_is_rebuilt(
    tmp_path: Path,
) -> None:
    """A process that was paused, and has the slot no more, on the same machine."""
    settings = StateSettings("disk")
    here, there = (Machine(tmp_path, name, settings) for name in "ab")
    stored = None
    for turn, machine in enumerate([here, there, there]):
        state = machine.begin(tmp_path, f"t{turn}", stored)
        machine.scope.key = turn
        state.update(turn)
        machine.store.commit(machine.journal, b"")
        assert machine.journal is not None
        stored = machine.journal.stored
    apply = here.store.local.apply

    def meanwhile(commit: Commit) -> bool:
        here.store.local.apply = apply  # type: ignore[method-assign]
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=write_late, args=(settings, tmp_path / "a"))
        process.start()
        process.join()
        assert process.exitcode == 0
        return apply(commit)

    here.store.local.apply = meanwhile  # type: ignore[method-assign]
    state = here.begin(tmp_path, "t3", stored)
    assert dict(state._table.items()) == {0: 0, 1: 1, 2: 2}
    assert here.store.rebuilds == 1
    for each in (here, there):
        each.store.close()


def write_late(settings: StateSettings, place: Path) -> None:
    store = settings.local_store(place)
    store.check()
    store.begin()
    assert store.apply(Commit(store.lineage(), b"late", []))
