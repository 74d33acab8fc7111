"""Tables of runs against dicts, and runs as a part of the checkpoint."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract._slots import SETTINGS

from scurry.common.errors import StateError
from scurry.state import slot_records
from scurry.state.journal import Head, MemoryJournal
from scurry.state.local.disk import LocalStore
from scurry.state.runs import files as run_files
from scurry.state.runs import index as run_index
from scurry.state.runs import key_rows
from scurry.state.runs import runs as runs_module
from scurry.state.runs.files import RunDirectory
from scurry.state.runs.key_rows import Order, prefix_length, rank
from scurry.state.runs.runs import RunTable, TableInfo
from scurry.state.slot_store import SlotStore

# keys that come again, zeros at the end of keys, keys that are prefixes of others, keys that need
# wider rows
some_keys = st.one_of(
    st.sampled_from([b"a", b"b", b""]),
    st.text("\0ab\xff", max_size=4).map(lambda text: text.encode("latin-1")),
    st.integers(0, 300).map(lambda number: b"%d" % number),
    st.binary(max_size=40),
    # below a prefix, or a prefix
    st.builds(
        lambda form, rest: b"\0\1" + len(form).to_bytes(2, "big") + form + rest,
        st.sampled_from([b"x", b"y", b"\0", b"long" * 5]),
        st.one_of(st.just(b""), st.text("\0ab", max_size=3).map(str.encode)),
    ),
)
changes = st.lists(
    st.tuples(some_keys, st.one_of(st.none(), st.binary(min_size=1, max_size=9))), min_size=1
)


@settings(max_examples=60, deadline=None)
@given(
    batches=st.lists(changes, max_size=20),
    start=some_keys,
    chunk=st.sampled_from([2, 7, 1000]),
    hashes=st.sampled_from([1, 3, 1 << 32]),
    asked=st.lists(
        st.sampled_from(["nothing", "all", "pieces", "others", "below", "some below"]), min_size=1
    ),
    merging=st.sampled_from([(2, 4), (4, 8), (64, 256)]),
    indexing=st.sampled_from([(2, 16), (4, 16), (100, 3)]),
    by=st.sampled_from(Order),
)
def test_a_table_of_runs_is_a_dict(
    tmp_path_factory: Any,
    batches: list[Any],
    start: bytes,
    chunk: int,
    hashes: int,
    asked: list[str],
    merging: tuple[int, int],
    indexing: tuple[int, int],
    by: Order,
) -> None:
    """Also when many keys have one hash, whatever has been read before something is written,
    whether runs are merged or indexed, and in either order of keys."""
    directory = RunDirectory(tmp_path_factory.mktemp("runs"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_files, "_CHUNK", chunk)
        for module, (together, most) in ((runs_module, merging), (run_index, indexing)):
            patch.setattr(module, "_ALIKE", together)
            patch.setattr(module, "_MOST", most)
        for mixed in ("_mixed", "_mixed_one"):
            patch.setattr(key_rows, mixed, lambda numbers: numbers % np.uint64(hashes))
        table, model = RunTable(directory, by=by), dict[bytes, bytes]()
        for number, batch in enumerate(batches):
            keys, how = [key for key, _ in batch], asked[number % len(asked)]
            middle = len(keys) // 2
            reads = {"all": [keys], "pieces": [keys[:middle], keys[middle:]], "others": [[start]]}
            for read in reads.get(how, []):
                assert table.get_many(read) == [model.get(key) for key in read]
            if by is Order.PREFIX and how.endswith("below"):
                read_below(table, keys if how == "below" else [*keys[middle:], start])
            changed = table.with_changes(keys, [r for _, r in batch])
            before = dict(table.scan())
            assert before == model, "the old table is still there"
            for name in set(table.info.names) - set(changed.info.names):
                directory.delete(name)
            searched = run_index.grouped(changed._runs, changed._indexes)
            assert len(searched) <= indexing[1]
            table = RunTable.open(directory, changed.info)
            for prefix in emptied(batch) if by is Order.PREFIX else ():
                model = {k: r for k, r in model.items() if k[: prefix_length(k)] != prefix}
            for key, record in batch:
                model.pop(key, None)
                if record is not None:
                    model[key] = record
            wanted = [start, *(key for key, _ in batch)]
            assert table.get_many(wanted) == [model.get(key) for key in wanted]
            assert [table.get(key) for key in wanted] == [model.get(key) for key in wanted]
            if by is Order.PREFIX:
                check_below(table, model, wanted)
        in_order = sorted(model.items(), key=lambda item: rank(item[0], by))
        assert list(table.scan()) == in_order
        after = [item for item in in_order if not start or rank(item[0], by) >= rank(start, by)]
        assert list(table.scan(start)) == after
        assert table.live == len(model)
        assert len(table.info.runs) <= merging[1]
        files = 4 * len(table.info.runs) + 2 * len(table.info.indexes)
        assert len(list(directory.path.iterdir())) == files, "nothing else is left over"


def emptied(batch: list[tuple[bytes, bytes | None]]) -> set[bytes]:
    """The prefixes below which a batch removes everything."""
    return {key for key, record in batch if record is None and prefix_length(key) == len(key)}


def read_below(table: RunTable, keys: list[bytes]) -> None:
    """Read what lies below the prefixes of ``keys``, in two blocks, except where that is much."""
    prefixes = list(dict.fromkeys(key[: prefix_length(key)] for key in keys))
    first = table.below(prefixes, most=5, at_once=len(prefixes))
    table.below(prefixes[len(first) :], most=5)


def check_below(table: RunTable, model: dict[bytes, bytes], keys: list[bytes]) -> None:
    """What lies below prefixes, read in several ways."""
    prefixes = list(dict.fromkeys(key[: prefix_length(key)] for key in keys))
    truth = [
        {k[len(p) :]: r for k, r in model.items() if k[: prefix_length(k)] == p} for p in prefixes
    ]
    assert table.below(prefixes).all() == truth
    some = table.below(prefixes, most=2, at_once=3).all()
    assert 1 <= len(some) <= len(prefixes)
    for found, expected in zip(some, truth, strict=False):
        assert found == expected or (isinstance(found, int) and found >= max(3, len(expected)))
    none = table.below(prefixes, most=0).all()
    assert none == [
        expected if found == {} else found for found, expected in zip(none, truth, strict=True)
    ]


def test_of_two_records_under_a_key_that_was_read_the_later_counts(tmp_path: Path) -> None:
    table = RunTable(RunDirectory(tmp_path)).with_changes([b"a", b"x"], [b"old", b"old"])
    keys = [b"a", b"b", b"a", b"x"]
    assert table.get_many(keys) == [b"old", None, b"old", b"old"]
    table = table.with_changes(keys, [b"1", b"2", b"3", None])
    assert dict(table.scan()) == {b"a": b"3", b"b": b"2"}
    assert table.live == 2


@pytest.mark.parametrize("hashes", [1, 5, 1 << 32])
@pytest.mark.parametrize("written", ["all", "some", "more", "none left"])
def test_what_was_read_below_prefixes_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hashes: int, written: str
) -> None:
    """All of it in the order in which it was read, some of it, or other keys as well; read in
    blocks, one of them twice. The number of records stays right, and so does every record."""
    for mixed in ("_mixed", "_mixed_one"):
        monkeypatch.setattr(key_rows, mixed, lambda numbers: numbers % np.uint64(hashes))
    prefixes = [b"\0\1\0\2k%d" % number for number in range(9)]
    model = {p + b"r%d" % n: b"old" for p in prefixes[::2] for n in range(1 + p[-1] % 3)}
    table = RunTable(RunDirectory(tmp_path), by=Order.PREFIX)
    for start in range(3):
        part = list(model)[start::3]
        table = table.with_changes(part, [model[key] for key in part])
    read = []
    for block in (prefixes[5:], prefixes[:5], *([prefixes[:2]] if written == "more" else [])):
        found = table.below(block, most=10).all()
        read += [p + rest for p, one in zip(block, found, strict=True) for rest in one]
    assert set(read) == set(model)
    keys = read[1::2] if written == "some" else read
    keys += [prefixes[1] + b"new", prefixes[0] + b"new", b"other"] if written == "more" else []
    records = [None if written == "none left" else b"%d" % at for at in range(len(keys))]
    changed = table.with_changes(keys, records)
    for key, record in zip(keys, records, strict=True):
        model.pop(key, None)
        if record is not None:
            model[key] = record
    assert dict(changed.scan()) == model
    assert changed.live == len(model)


def test_runs_without_indexes_are_read_as_well(tmp_path: Path) -> None:
    """As checkpoints have them that were written before there were any."""
    directory = RunDirectory(tmp_path)
    table, model = RunTable(directory), dict[bytes, bytes]()
    for number in range(9):
        batch = {b"%d" % key: b"%d" % number for key in range(number, 100)}
        table, model = table.with_changes(list(batch), list(batch.values())), model | batch
    assert len(table.info.runs) == 9
    assert table.info.indexes
    plain = msgspec.msgpack.encode([table.info.runs, table.live])
    before = RunTable.open(directory, msgspec.msgpack.decode(plain, type=TableInfo))
    assert dict(zip(model, before.get_many(list(model)), strict=True)) == model
    after = before.with_changes([b"7"], [b"seven"])
    assert after.get_many([b"7", b"99"]) == [b"seven", b"8"]


@settings(max_examples=60, deadline=None)
@given(batches=st.lists(changes, min_size=1, max_size=12), now=st.integers(0, 8))
def test_condemned_records_go_when_runs_are_merged(
    tmp_path_factory: Any, batches: list[Any], now: int
) -> None:
    directory = RunDirectory(tmp_path_factory.mktemp("runs"))

    def condemned(record: bytes) -> bool:
        return record[0] < now * 30

    table, model = RunTable(directory), dict[bytes, bytes]()
    for batch in batches:
        table = table.with_changes([key for key, _ in batch], [r for _, r in batch], condemned)
        for key, record in batch:
            model.pop(key, None)
            if record is not None:
                model[key] = record
        found = dict(table.scan())
        gone = model.keys() - found.keys()
        assert found.items() <= model.items(), "nothing comes back, nothing is changed"
        assert all(condemned(model[key]) for key in gone), "no other record goes"
        assert table.live == len(found)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs_module, "_FEW", -(10**9))  # everything is merged
        last = table.with_changes([b"last"], [b"\xff"], condemned)
    model[b"last"] = b"\xff"
    assert dict(last.scan()) == {k: r for k, r in model.items() if not condemned(r)}


def fill(path: Path, journal: MemoryJournal, batches: int = 3) -> dict[int, str]:
    """Three commits to a store of runs."""
    store = SlotStore(LocalStore(path, runs_above=0), 128)
    for batch in range(batches):
        write(store, journal, dict.fromkeys(range(batch * 50, 300), f"{batch}"))
    store.close()
    return {key: str(min(key // 50, batches - 1)) for key in range(300)}


def _head(journal: MemoryJournal) -> Head:
    head = journal.head()
    assert head is not None
    return head


def write(store: SlotStore, journal: MemoryJournal, values: Mapping[Any, str | None]) -> None:
    store.begin(journal)
    table = store.table("op", "v", bulk=True)
    for key, value in values.items():
        table.live[key] = value
        table.dirty[key] = None
    store.commit(journal, b"")


def held(store: SlotStore) -> dict[int, str]:
    """What a store has, listed and looked up."""
    table = store.table("op", "v", bulk=True)
    listed = dict(table.items())
    table.prefetch(list(listed))
    assert {key: table.live.get(key) for key in listed} == listed
    return listed


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-3])


@pytest.mark.parametrize("suffix", ["hashes", "keys", "ends", "data", "places"])
@pytest.mark.parametrize("damage", [cut, Path.unlink])
def test_damage_to_the_checkpoint_is_told(
    tmp_path: Path, suffix: str, damage: Callable[[Path], None]
) -> None:
    journal = MemoryJournal(tmp_path / "checkpoint")
    fill(tmp_path / "local", journal, batches=6)
    damage(next((tmp_path / "checkpoint").glob(f"*.{suffix}")))
    store = SlotStore(LocalStore(tmp_path / "local", runs_above=0), 128)
    with pytest.raises(StateError, match="The checkpoint is damaged"):
        store.begin(journal)


def test_a_table_that_begins_large_is_written_once(tmp_path: Path) -> None:
    """Each file is a request where the checkpoint is in an object store."""
    journal = MemoryJournal(tmp_path / "checkpoint")
    store = SlotStore(LocalStore(tmp_path / "local", runs_above=200), 128)
    write(store, journal, {key: f"{key}" for key in range(300)})
    assert {file.stem for file in (tmp_path / "checkpoint").iterdir()} == {
        run.name for table in _head(journal).runs.values() for run in table.runs
    }
    assert len(_head(journal).runs["op\x1fv"].runs) == 1
    assert sum(map(len, journal.entries.values())) < 50
    store.begin(journal)
    assert held(store) == {key: f"{key}" for key in range(300)}


def test_what_is_removed_does_not_make_a_table_large(tmp_path: Path) -> None:
    journal = MemoryJournal(tmp_path / "checkpoint")
    store = SlotStore(LocalStore(tmp_path / "local", runs_above=200), 128)
    write(store, journal, {**dict.fromkeys(range(300)), 1: "one"})
    store.begin(journal)
    assert not store.records.in_runs("op\x1fv")
    assert held(store) == {1: "one"}


def test_a_table_moves_in_one_piece(tmp_path: Path, monkeypatch: Any) -> None:
    """However many pieces it is read in, and however wide the keys of each are."""
    monkeypatch.setattr(slot_records, "_MOVED_AT_ONCE", 20)
    journal = MemoryJournal(tmp_path / "checkpoint")
    store = SlotStore(LocalStore(tmp_path / "local", runs_above=200), 128)
    keys = [f"{key}" * (1 + key % 9) for key in range(250)]
    for first in range(0, 250, 125):
        write(store, journal, dict.fromkeys(keys[first : first + 125], "old"))
    write(store, journal, dict.fromkeys(keys[:30], "new"))
    (table,) = _head(journal).runs.values()
    assert [run.rows for run in table.runs] == [250, 30]
    assert {file.stem for file in (tmp_path / "checkpoint").iterdir()} == set(table.names)
    store.begin(journal)
    assert held(store) == {**dict.fromkeys(keys, "old"), **dict.fromkeys(keys[:30], "new")}


@pytest.mark.parametrize("backend", ["disk", "memory", "runs"])
def test_another_machine_reads_them_where_they_are(tmp_path: Path, backend: str) -> None:
    journal = MemoryJournal(tmp_path / "checkpoint")
    truth = fill(tmp_path / "first", journal)
    store = SlotStore(SETTINGS[backend].local_store(tmp_path / "second"), 128)
    store.begin(journal)
    assert store.records.in_runs("op\x1fv")
    assert held(store) == truth
    assert store.entries == len(truth)
    write(store, journal, {5: "five", 600: "new"})
    store.begin(journal)
    assert held(store) == truth | {5: "five", 600: "new"}


def test_what_survived_is_used(tmp_path: Path) -> None:
    journal = MemoryJournal()
    truth = fill(tmp_path, journal)
    store = SlotStore(LocalStore(tmp_path, runs_above=0), 128)
    store.begin(journal)
    table = store.table("op", "v", bulk=True)
    assert store.rebuilds == 0
    assert store.entries == len(truth)
    assert [table.load(key) for key in (0, 299, 300)] == ["0", "2", None]


def test_a_commit_that_does_not_come_about_leaves_what_was(tmp_path: Path) -> None:
    """Spark may drop a micro-batch after everything was written, at any of these moments."""
    journal = MemoryJournal(tmp_path / "checkpoint")
    truth = fill(tmp_path / "local", journal, batches=6)
    for attempt in range(8):
        before = copy.deepcopy(journal)
        store = SlotStore(LocalStore(tmp_path / "local", runs_above=0), 128)
        write(store, journal, dict.fromkeys(range(attempt * 20, 300), "lost"))
        if attempt % 2:
            store.begin(journal)
        store.close()
        journal = before
        again = SlotStore(LocalStore(tmp_path / "local", runs_above=0), 128)
        again.begin(journal)
        assert held(again) == truth
        again.close()


def test_only_files_that_are_needed_stay(tmp_path: Path) -> None:
    journal = MemoryJournal(tmp_path / "checkpoint")
    fill(tmp_path / "local", journal)
    of_the_file_system = tmp_path / "checkpoint" / ".nfs000001"
    of_the_file_system.touch()
    for batch in range(30):
        before = copy.deepcopy(journal)
        lost = SlotStore(LocalStore(tmp_path / "lost", runs_above=0), 128)
        write(lost, journal, dict.fromkeys(range(300), "lost"))
        store = SlotStore(LocalStore(tmp_path / "local", runs_above=0), 128)
        write(store, before, dict.fromkeys(range(batch, 300), "kept"))
        journal = before
    store = SlotStore(LocalStore(tmp_path / "local", runs_above=0), 128)
    store.begin(journal)
    head = journal.head()
    assert head is not None
    live = sum(len(table.names) for table in head.runs.values())
    there = {file.stem for file in (tmp_path / "checkpoint").iterdir() if file.suffix}
    assert of_the_file_system.exists()
    # the last attempt that was lost, and what the last commit merged
    assert live <= len(there) <= live + 2 + len(head.dead)
    assert live <= 8


@pytest.mark.parametrize("block", [7, 65_536])
def test_a_table_moves_when_it_has_grown(
    tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slot_records, "_MOVED_AT_ONCE", block)
    journal = MemoryJournal()
    store = SlotStore(LocalStore(tmp_path, runs_above=100), 128)
    truth: dict[int, int] = {}
    for batch in range(8):
        store.begin(journal)
        for name in ("many", "few"):
            table = store.table("op", name, bulk=name == "many")
            for key in range(batch * 20, batch * 20 + 40) if name == "many" else [batch]:
                table.live[key] = truth[key] = batch
                table.dirty[key] = None
        store.commit(journal, b"")
        assert store.records.in_runs("op\x1fmany") == (batch >= 4), "there were 100 records"
    assert not store.records.in_runs("op\x1ffew")
    for again in (store, SlotStore(LocalStore(tmp_path / "elsewhere"), 128)):
        again.begin(journal)
        many, few = (dict(again.table("op", name).items()) for name in ("many", "few"))
        assert many == {key: min(key // 20, 7) for key in range(180)}
        assert few == {batch: batch for batch in range(8)}
        assert again.entries == 188
    assert sum(map(len, journal.entries.values())) < 1000, "the log has let go of the table"
