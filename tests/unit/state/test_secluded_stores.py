"""Local stores that one process has for itself, because another one has those of the slot."""

from __future__ import annotations

import gc
import os
from pathlib import Path

from scurry.state.local.disk import LocalStore
from scurry.state.local.store import Commit


def secluded(root: Path) -> LocalStore:
    """A store that a process has for itself, with a record."""
    store = LocalStore(root)
    store.seclude()
    store.check()
    write(store, None, b"one")
    return store


def write(store: LocalStore, base: bytes | None, lineage: bytes) -> None:
    """A micro-batch that writes a record which says its lineage."""
    store.begin()
    assert store.lineage() == base
    assert store.apply(Commit(base, lineage, [("table", [b"key"], [lineage])]))
    store.confirm()


def test_others_leave_it_alone(tmp_path: Path) -> None:
    alone = secluded(tmp_path)
    another, shared = secluded(tmp_path), LocalStore(tmp_path)
    shared.check()
    write(shared, None, b"theirs")
    alone.check()
    write(alone, b"one", b"two")
    another.check()
    write(another, b"one", b"three")
    alone.begin()
    assert alone.get("table", b"key") == b"two"
    for store in (alone, another, shared):
        store.close()


def test_it_is_deleted_when_nobody_has_it(tmp_path: Path) -> None:
    secluded(tmp_path).close()
    assert [place.name for place in tmp_path.glob("apart-*")]
    shared = LocalStore(tmp_path)
    shared.check()
    write(shared, None, b"theirs")
    assert not list(tmp_path.glob("apart-*"))
    shared.close()


def test_a_copy_of_the_process_has_it_too(tmp_path: Path) -> None:
    alone = secluded(tmp_path)
    alone.end()
    ready, go = os.pipe()
    pid = os.fork()
    if pid == 0:
        gc.disable()
        os.close(go)
        os.read(ready, 1)
        os._exit(0)
    os.close(ready)
    alone.close()
    LocalStore(tmp_path).check()
    assert list(tmp_path.glob("apart-*"))
    os.close(go)
    os.waitpid(pid, 0)
    LocalStore(tmp_path).check()
    assert not list(tmp_path.glob("apart-*"))
