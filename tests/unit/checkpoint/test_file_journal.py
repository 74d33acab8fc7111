"""Journals that are files of the checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from scurry.checkpoint.file_journal import FileJournal, StoredHead
from scurry.common.errors import StateError
from scurry.state.journal import Head


def journal(place: Path, token: str, stored: StoredHead | None = None) -> FileJournal:
    return FileJournal(place / "log", place / "runs", token, stored)


def head(first: int, next_: int) -> Head:
    return Head(b"lineage", first, next_, 0, 0, b"notes")


def stored(made: FileJournal) -> StoredHead:
    found = made.stored
    assert found is not None
    return found


def test_a_slot_without_history(tmp_path: Path) -> None:
    made = journal(tmp_path, "a")
    assert made.head() is None
    assert made.stored is None
    assert not (tmp_path / "log").exists()


def test_whoever_has_what_the_epoch_knows_reads_the_entries(tmp_path: Path) -> None:
    made = journal(tmp_path, "a")
    made.append(0, b"zero")
    made.append(1, b"one")
    made.put_head(head(0, 2))
    again = journal(tmp_path, "b", stored(made))
    found = again.head()
    assert found is not None
    assert (found.first, found.next, found.notes) == (0, 2, b"notes")
    assert [again.read(0), again.read(1)] == [b"zero", b"one"]


def test_entries_of_an_attempt_that_failed_do_not_count(tmp_path: Path) -> None:
    first = journal(tmp_path, "a")
    first.append(0, b"zero")
    first.put_head(head(0, 1))
    known = stored(first)
    first.append(1, b"lost")
    first.append(2, b"lost too")

    second = journal(tmp_path, "b", known)
    second.append(1, b"one")
    second.put_head(head(0, 2))
    third = journal(tmp_path, "c", stored(second))
    assert [third.read(0), third.read(1)] == [b"zero", b"one"]


def test_tokens_are_forgotten_with_the_entries_that_they_are_of(tmp_path: Path) -> None:
    known: StoredHead | None = None
    for seq in range(50):
        made = journal(tmp_path, f"attempt{seq}", known)
        made.append(seq, b"%d" % seq)
        made.put_head(head(max(0, seq - 2), seq + 1))
        known = stored(made)
    assert known is not None
    assert len(known.tokens) == 3
    last = journal(tmp_path, "", known)
    assert [last.read(seq) for seq in (47, 48, 49)] == [b"47", b"48", b"49"]


def test_old_entries_are_deleted_whoever_wrote_them(tmp_path: Path) -> None:
    first = journal(tmp_path, "a")
    for seq in range(4):
        first.append(seq, b"x")
    second = journal(tmp_path, "b")
    second.append(1, b"y")
    (tmp_path / "log" / ".nfs0001").write_text("of the file system")
    second.drop_before(3)
    assert sorted(p.name for p in (tmp_path / "log").iterdir()) == [".nfs0001", "000000000003-a"]


def test_nothing_to_delete(tmp_path: Path) -> None:
    journal(tmp_path, "a").drop_before(3)


@pytest.mark.parametrize("damage", ["missing", "changed", "short"])
def test_a_damaged_entry_is_named(tmp_path: Path, damage: str) -> None:
    made = journal(tmp_path, "a")
    made.append(0, b"zero")
    (path,) = (tmp_path / "log").iterdir()
    if damage == "missing":
        path.unlink()
    elif damage == "changed":
        path.write_bytes(path.read_bytes()[:-1] + b"!")
    else:
        path.write_bytes(b"")
    with pytest.raises(StateError, match=rf"damaged.*{path.name} cannot be read"):
        made.read(0)
