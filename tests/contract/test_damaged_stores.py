"""Whatever happens to the files of a local store, state is what the journal says."""

from __future__ import annotations

import copy
import multiprocessing
import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lmdb
import pytest

from scurry.common.errors import JobError
from scurry.state.journal import MemoryJournal
from scurry.state.local import generations
from scurry.state.local.disk import LocalStore
from scurry.state.slot_store import SlotStore

KEYS = range(500)


def update(store: SlotStore, journal: MemoryJournal, value: Any) -> None:
    store.begin(journal)
    table = store.table("op", "v")
    for key in KEYS:
        table.live[key] = value
        table.dirty[key] = None
    store.commit(journal, b"")


def update_elsewhere(path: Path, journal: MemoryJournal, value: Any) -> None:
    """In another process, as an attempt that Spark has given up would."""
    update(SlotStore(LocalStore(path), 128), journal, value)


def elsewhere(path: Path, journal: MemoryJournal, value: Any) -> None:
    # a copy of this process could not open what is open here
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=update_elsewhere, args=(path, journal, value))
    process.start()
    process.join()
    assert process.exitcode == 0


def held(store: SlotStore, journal: MemoryJournal) -> dict[Any, Any]:
    store.begin(journal)
    found = dict(store.table("op", "v").items())
    store.commit(journal, b"")
    return found


def data_file(path: Path) -> Path:
    (found,) = path.glob("*/data.mdb")
    return found


def scribble(path: Path) -> None:
    # what is changed within a tick of the file system's clock after a commit cannot be told
    time.sleep(0.2)
    with data_file(path).open("r+b") as file:
        for _ in range(50):
            file.seek(random.randrange(200_000))
            file.write(random.randbytes(100))


def zero(path: Path) -> None:
    time.sleep(0.01)
    file = data_file(path)
    file.write_bytes(bytes(file.stat().st_size))


DAMAGE: dict[str, Callable[[Path], object]] = {
    "directory deleted": shutil.rmtree,
    "data file deleted": lambda path: data_file(path).unlink(),
    "lock file deleted": lambda path: data_file(path).with_name("lock.mdb").unlink(),
    "emptied": lambda path: os.truncate(data_file(path), 0),
    "cut short": lambda path: os.truncate(data_file(path), 10_000),
    "random bytes": scribble,
    "zeros": zero,
    "seal deleted": lambda path: (path / "seal").unlink(),
    "seal emptied": lambda path: os.truncate(path / "seal", 0),
    "seal of nonsense": lambda path: (path / "seal").write_bytes(b"nonsense"),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("same_worker", [True, False])
def test_a_damaged_store_is_rebuilt(tmp_path: Path, damage: str, same_worker: bool) -> None:
    journal = MemoryJournal()
    path = tmp_path / "s"
    store = SlotStore(LocalStore(path), 128)
    update(store, journal, "first")
    update(store, journal, "second")
    DAMAGE[damage](path)
    if not same_worker:
        store = SlotStore(LocalStore(path), 128)
    assert held(store, journal) == dict.fromkeys(KEYS, "second")
    assert store.rebuilds == 1
    update(store, journal, "third")
    assert held(SlotStore(LocalStore(path), 128), journal) == dict.fromkeys(KEYS, "third")
    assert len(list(path.glob("*/data.mdb"))) == 1, "old generations are deleted"


def test_an_undamaged_store_is_kept(tmp_path: Path) -> None:
    journal = MemoryJournal()
    first = SlotStore(LocalStore(tmp_path), 128)
    update(first, journal, "x")
    first.close()
    for _ in range(5):
        store = SlotStore(LocalStore(tmp_path), 128)
        assert held(store, journal) == dict.fromkeys(KEYS, "x")
        assert store.rebuilds == 0
        store.close()


def renumber(path: Path) -> None:
    """Write something else in the place of the number of the last transaction."""
    time.sleep(0.2)
    with data_file(path).open("r+b") as file:
        for page in (0, 4096):
            file.seek(page + 144)
            file.write(b"\xee" * 8)


@pytest.mark.parametrize("damage", [scribble, renumber])
def test_damage_during_a_micro_batch_ends_it(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    journal = MemoryJournal()
    store = SlotStore(LocalStore(tmp_path), 128)
    update(store, journal, "x")
    store.begin(journal)
    damage(tmp_path)
    with pytest.raises(JobError, match=r"was changed by another program.*has to be run again"):
        store.commit(journal, b"")
    assert held(SlotStore(LocalStore(tmp_path), 128), journal) == dict.fromkeys(KEYS, "x")


def write_unseen(place: Path, gone: bool) -> None:
    """Write, in another process, to a store of which nobody sees who is reading it. Delete its
    files meanwhile if they are to be gone."""
    (place / "lock.mdb").unlink()
    with lmdb.open(str(place)) as environment:
        if gone:
            shutil.rmtree(place)
        for _ in range(5):
            with environment.begin(write=True) as transaction:
                for number in range(500):
                    transaction.put(b"%d" % number, os.urandom(50))


@pytest.mark.parametrize("gone", [False, True])
def test_a_lock_file_that_was_replaced_ends_the_micro_batch(tmp_path: Path, gone: bool) -> None:
    """Pages that are being read may have been written over: it is not enough that transactions
    have been committed since."""
    journal = MemoryJournal()
    store = SlotStore(LocalStore(tmp_path), 128)
    update(store, journal, "x")
    store.begin(journal)
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=write_unseen, args=(data_file(tmp_path).parent, gone))
    process.start()
    process.join()
    assert process.exitcode == 0
    with pytest.raises(JobError, match=r"was changed by another program.*has to be run again"):
        store.commit(journal, b"")
    assert held(SlotStore(LocalStore(tmp_path), 128), journal) == dict.fromkeys(KEYS, "x")


def test_another_attempt_writing_meanwhile_is_no_damage(tmp_path: Path) -> None:
    journal = MemoryJournal()
    store = SlotStore(LocalStore(tmp_path), 128)
    update(store, journal, "x")
    store.begin(journal)
    elsewhere(tmp_path, copy.deepcopy(journal), "zombie")
    store.table("op", "v").live[0] = "y"
    store.table("op", "v").dirty[0] = None
    store.commit(journal, b"")
    store.close()
    assert held(SlotStore(LocalStore(tmp_path), 128), journal) == {
        **dict.fromkeys(KEYS, "x"),
        0: "y",
    }


def test_nothing_of_an_earlier_run_of_the_machine_is_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = MemoryJournal()
    first = SlotStore(LocalStore(tmp_path), 128)
    update(first, journal, "x")
    first.close()
    monkeypatch.setattr(generations, "_boot", lambda: "another boot")
    store = SlotStore(LocalStore(tmp_path), 128)
    assert held(store, journal) == dict.fromkeys(KEYS, "x")
    assert store.rebuilds == 1


def test_a_store_on_which_attempt_after_attempt_dies_is_given_up(tmp_path: Path) -> None:
    journal = MemoryJournal()
    first = SlotStore(LocalStore(tmp_path), 128)
    update(first, journal, "x")
    first.close()
    rebuilds = []
    for _ in range(4):
        dying = SlotStore(LocalStore(tmp_path), 128)
        dying.begin(journal)
        rebuilds.append(dying.rebuilds)
        dying.close()
    assert rebuilds[0] == 0
    assert rebuilds[-1] == 1


def test_two_attempts_at_the_first_micro_batch_leave_nothing_behind(tmp_path: Path) -> None:
    """Neither was committed by Spark, so a third one must begin with nothing."""
    one = SlotStore(LocalStore(tmp_path), 128)
    journal = MemoryJournal()
    one.begin(journal)
    one.local.confirm()
    one.begin(journal)
    elsewhere(tmp_path, MemoryJournal(), "two")
    one.table("op", "v").live[0] = "one"
    one.table("op", "v").dirty[0] = None
    one.commit(journal, b"")
    one.close()
    assert held(SlotStore(LocalStore(tmp_path), 128), MemoryJournal()) == {}
