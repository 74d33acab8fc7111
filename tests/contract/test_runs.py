"""Tables of runs against dicts, and what becomes of damaged runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scurry.state import local
from scurry.state import runs as runs_module
from scurry.state.journal import MemoryJournal
from scurry.state.local import LocalStore
from scurry.state.runs import RunTable
from scurry.state.slot_store import SlotStore

# zeros at the end of keys, keys that are prefixes of others, keys that need wider rows
some_keys = st.one_of(
    st.text("\0ab\xff", max_size=4).map(lambda text: text.encode("latin-1")),
    st.integers(0, 300).map(lambda number: b"%d" % number),
    st.binary(max_size=40),
)
changes = st.lists(
    st.tuples(some_keys, st.one_of(st.none(), st.binary(min_size=1, max_size=9))), min_size=1
)


@settings(max_examples=60, deadline=None)
@given(batches=st.lists(changes, max_size=12), start=some_keys, chunk=st.sampled_from([2, 7, 1000]))
def test_a_table_of_runs_is_a_dict(
    tmp_path_factory: Any, batches: list[Any], start: bytes, chunk: int
) -> None:
    place = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs_module, "_CHUNK", chunk)
        table, model = RunTable(place), dict[bytes, bytes]()
        for batch in batches:
            changed = table.with_changes([key for key, _ in batch], [r for _, r in batch])
            before = dict(table.scan())
            assert before == model, "the old table is still there"
            table.discard(changed)
            table = RunTable.open(place, changed.info)
            for key, record in batch:
                model.pop(key, None)
                if record is not None:
                    model[key] = record
            wanted = [start, *(key for key, _ in batch)]
            assert table.get_many(wanted) == [model.get(key) for key in wanted]
        in_order = sorted(model.items())
        assert list(table.scan()) == in_order
        assert list(table.scan(start)) == [item for item in in_order if item[0] >= start]
        assert table.live == len(model)
        assert len(list(place.iterdir())) == 3 * len(table.info.runs), "nothing else is left over"


def filled(path: Path, journal: MemoryJournal) -> dict[int, str]:
    """A store of runs with three commits."""
    store = SlotStore(LocalStore(path, runs_above=0), 128)
    for batch in range(3):
        store.begin(journal)
        table = store.table("op", "v", bulk=True)
        for key in range(batch * 50, 300):
            table.live[key] = f"{batch}"
            table.dirty[key] = None
        store.commit(journal, b"")
    store.close()
    return {key: str(min(key // 50, 2)) for key in range(300)}


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-3])


def scribble(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(content)


@pytest.mark.parametrize("suffix", ["keys", "ends", "data"])
@pytest.mark.parametrize("damage", [cut, scribble, Path.unlink])
def test_a_damaged_run_is_not_believed(
    tmp_path: Path, suffix: str, damage: Callable[[Path], None]
) -> None:
    journal = MemoryJournal()
    truth = filled(tmp_path, journal)
    for file in tmp_path.glob(f"*/run-*.{suffix}"):
        damage(file)
    store = SlotStore(LocalStore(tmp_path, runs_above=0), 128)
    store.begin(journal)
    table = store.table("op", "v", bulk=True)
    assert store.rebuilds == 1
    assert dict(table.items()) == truth
    table.prefetch(list(truth))
    assert {key: table.live.get(key) for key in truth} == truth


def test_what_survived_is_used(tmp_path: Path) -> None:
    journal = MemoryJournal()
    truth = filled(tmp_path, journal)
    store = SlotStore(LocalStore(tmp_path, runs_above=0), 128)
    store.begin(journal)
    table = store.table("op", "v", bulk=True)
    assert store.rebuilds == 0
    assert store.entries == len(truth)
    assert [table.load(key) for key in (0, 299, 300)] == ["0", "2", None]


def test_runs_that_another_attempt_has_merged_are_not_missed(tmp_path: Path) -> None:
    journal = MemoryJournal()
    truth = filled(tmp_path, journal)
    store = SlotStore(LocalStore(tmp_path, runs_above=0), 128)
    check = store.local.check

    def check_and_be_overtaken() -> None:
        check()
        for file in tmp_path.glob("*/run-*"):
            file.unlink()

    store.local.check = check_and_be_overtaken  # type: ignore[method-assign]
    store.begin(journal)
    assert store.rebuilds == 1
    assert dict(store.table("op", "v", bulk=True).items()) == truth


@pytest.mark.parametrize("block", [7, 65_536])
def test_a_store_moves_a_table_out_when_it_has_grown(
    tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "_MOVED_AT_ONCE", block)
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
        assert store.local.in_runs("op\x1fmany") == (batch >= 4), "there were 100 records"
    assert not store.local.in_runs("op\x1ffew")
    store.begin(journal)
    assert dict(store.table("op", "many").items()) == {key: min(key // 20, 7) for key in range(180)}
    assert dict(store.table("op", "few").items()) == {batch: batch for batch in range(8)}
    assert store.entries == 188
