"""Local stores know how many records each table has, whatever was written, and about how large."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import lmdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.state.journal import Group
from scurry.state.local.disk import _TALLIES, LocalStore
from scurry.state.local.memory import MemoryStore
from scurry.state.local.store import Commit, Store

TABLES = ["a\x1fone", "a\x1ftwo", "b\x1fone"]
Make = Callable[[Path], Store]
#: a table; for some of its keys a record, or None to remove what is there
changes = st.lists(
    st.tuples(
        st.sampled_from(TABLES),
        st.dictionaries(
            st.binary(min_size=1, max_size=3), st.none() | st.binary(max_size=20), max_size=8
        ),
    ),
    max_size=4,
)
#: the changes of a commit, the tables it empties first, and whether the store is opened anew
commits = st.lists(st.tuples(changes, st.sets(st.sampled_from(TABLES)), st.booleans()), max_size=8)


def as_groups(made: list[tuple[str, dict[bytes, bytes | None]]]) -> list[Group]:
    return [(table, list(records), list(records.values())) for table, records in made]


@pytest.mark.parametrize("make", [LocalStore, MemoryStore])
@given(history=commits)
def test_entries_are_exact_and_bytes_are_those_of_records(
    make: Make, history: list[tuple[list[tuple[str, dict[bytes, bytes | None]]], set[str], bool]]
) -> None:
    model: dict[str, dict[bytes, bytes]] = {}
    with TemporaryDirectory() as place:
        store = make(Path(place) / "store")
        store.check()
        lineage = None
        for number, (made, emptied, reopened) in enumerate(history):
            if reopened and make is LocalStore:
                store.close()
                store = make(Path(place) / "store")
                store.check()
            store.begin()
            assert store.apply(Commit(lineage, b"%d" % number, as_groups(made), emptied))
            lineage = b"%d" % number
            store.confirm()
            for table in emptied:
                model.pop(table, None)
            for table, records in made:
                held = model.setdefault(table, {})
                for key, record in records.items():
                    held.pop(key, None)
                    if record is not None:
                        held[key] = record
            _compare(store, model)
        store.close()


def _compare(store: Store, model: dict[str, dict[bytes, bytes]]) -> None:
    sizes = store.sizes()
    entries = {table: size.entries for table, size in sizes.items() if size.entries}
    assert entries == {table: len(held) for table, held in model.items() if held}
    if isinstance(store, MemoryStore):
        found = {table: size.bytes for table, size in sizes.items() if size.bytes}
        exact = {t: sum(len(k) + len(r) for k, r in held.items()) for t, held in model.items()}
        assert found == {table: size for table, size in exact.items() if size}


def test_the_estimate_of_bytes_follows_what_is_written(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "store")
    store.check()
    lineage: bytes | None = None
    for number in range(40):
        keys = [b"%05d" % key for key in range(300)]
        size = 100 if number < 20 else 400
        group: Group = (TABLES[0], keys, [b"x" * size] * len(keys))
        store.begin()
        assert store.apply(Commit(lineage, b"%d" % number, [group]))
        lineage = b"%d" % number
        store.confirm()
        if number == 19:
            assert store.sizes()[TABLES[0]] == (300, 300 * 105)
    entries, size = store.sizes()[TABLES[0]]
    assert entries == 300
    assert size == pytest.approx(300 * 405, rel=0.15)
    store.close()


def test_records_of_a_store_that_nobody_has_counted_are_counted(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "store")
    store.check()
    store.begin()
    assert store.apply(Commit(None, b"1", [(TABLES[0], [b"k", b"l"], [b"x", b"y"])]))
    environment: lmdb.Environment = store._environment
    with environment.begin(write=True) as txn:
        assert txn.delete(_TALLIES + TABLES[0].encode())
    store.begin()
    assert store.sizes() == {}
    assert store.apply(Commit(b"1", b"2", [(TABLES[0], [b"l", b"m"], [None, b"z"])]))
    assert store.sizes()[TABLES[0]].entries == 2
    assert store.entries == 2
    store.close()
