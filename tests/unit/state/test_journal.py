"""The journal: entries and head as bytes, which entries count, and a journal in memory."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.state import journal as journals
from scurry.state.journal import (
    Change,
    Group,
    Head,
    MemoryJournal,
    bytes_of,
    chunked,
    decode_head,
    encode_head,
    grouped,
    in_groups,
    pack,
    stored_key,
    stored_keys,
    unpack_groups,
)
from scurry.state.runs.runs import TableInfo

CHANGES: list[Change] = [
    ("a", b"1", b"one"),
    ("a", b"2", None),
    ("b", b"1", b""),
    ("a", b"1", b"uno"),
]


def flat(groups: list[Group]) -> list[Change]:
    return [
        (table, key, record)
        for table, keys, records in groups
        for key, record in zip(keys, records, strict=True)
    ]


# --- entries


def test_changes_that_follow_each_other_are_grouped_by_table() -> None:
    assert list(grouped(CHANGES)) == [
        ("a", [b"1", b"2"], [b"one", None]),
        ("b", [b"1"], [b""]),
        ("a", [b"1"], [b"uno"]),
    ]


def test_a_method_that_yields_changes_can_yield_groups() -> None:
    class Part:
        @in_groups
        def changes(self) -> Iterator[Change]:
            """What changed."""
            yield from CHANGES

    assert list(Part().changes()) == list(grouped(CHANGES))
    assert Part.changes.__doc__ == "What changed."


tables = st.sampled_from(["a", "b\x1fstate", "ü"])
changes = st.lists(st.tuples(tables, st.binary(max_size=40), st.none() | st.binary(max_size=90)))


@given(changes)
def test_an_entry_has_the_changes_that_were_packed_in_their_order(made: list[Change]) -> None:
    assert flat(unpack_groups(pack(list(grouped(made))))) == made


def test_an_entry_is_compressed() -> None:
    group: Group = ("t", [str(n).encode() for n in range(100)], [b"x" * 100] * 100)
    assert len(pack([group])) < bytes_of(group) / 10


@given(changes, st.integers(1, 300))
def test_pieces_have_all_changes_in_order_and_only_the_last_one_is_small(
    made: list[Change], limit: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journals, "CHUNK_BYTES", limit)
        patch.setattr(journals, "_AT_ONCE", 2)
        pieces = list(chunked(grouped(made)))
    assert [change for piece in pieces for change in flat(piece)] == made
    assert all(pieces), "no piece is empty"
    for piece in pieces[:-1]:
        assert sum(map(bytes_of, piece)) >= limit
        assert sum(map(bytes_of, piece[:-1])) < limit


def test_nothing_makes_no_pieces() -> None:
    assert list(chunked([])) == []


# --- keys


def test_short_keys_are_stored_as_they_are() -> None:
    keys = [b"", b"k" * 480]
    assert stored_keys(keys) == keys


@given(st.lists(st.binary(min_size=1, max_size=3), min_size=2, max_size=4, unique=True))
def test_long_keys_are_shortened_and_stay_apart(tails: list[bytes]) -> None:
    keys = [b"k" * 500 + tail for tail in tails]
    found = stored_keys(keys)
    assert found == [stored_key(key) for key in keys]
    assert all(len(key) <= 480 for key in found)
    assert len(set(found)) == len(keys)
    assert all(key.startswith(b"k" * 400) for key in found), "beside keys that begin alike"


# --- the head


def test_a_head_survives_its_bytes() -> None:
    head = Head(
        *(b"lineage", 3, 9, 100, 250, b"notes"),
        cycle=5,
        cursor=("t", b"key"),
        bulky=("large",),
        number=7,
        floor=2,
        runs={"large": TableInfo([], 4)},
        dead=[(6, "6-old")],
        gone={"dropped": 8},
    )
    assert decode_head(encode_head(head)) == head


def test_a_head_that_was_stored_with_fewer_fields_has_none_of_the_others() -> None:
    old = msgspec.msgpack.encode([b"lineage", 0, 2, 10, 20, b"notes", 1])
    head = decode_head(old)
    assert (head.lineage, head.next, head.notes) == (b"lineage", 2, b"notes")
    assert (head.cycle, head.runs, head.dead, head.gone) == (-1, {}, [], {})


def test_what_the_log_says_of_a_large_table_does_not_count() -> None:
    head = Head(b"", 0, 5, 0, 0, b"", runs={"large": TableInfo([], 0)})
    assert not head.counts(4, "large")
    assert head.counts(0, "small")


def test_what_the_log_says_of_a_dropped_table_counts_from_then_on() -> None:
    head = Head(b"", 0, 5, 0, 0, b"", gone={"dropped": 3})
    assert [head.counts(seq, "dropped") for seq in range(5)] == [False, False, False, True, True]
    assert head.counts(0, "other")


# --- a journal in memory


def test_a_journal_without_history_has_no_head() -> None:
    assert MemoryJournal().head() is None


def test_a_journal_has_the_last_head_that_was_put_and_keeps_it_apart() -> None:
    journal = MemoryJournal()
    head = Head(b"one", 0, 1, 0, 0, b"")
    journal.put_head(head)
    head.lineage = b"changed afterwards"
    found = journal.head()
    assert found is not None
    assert found.lineage == b"one"


def test_entries_are_read_until_they_are_removed() -> None:
    journal = MemoryJournal()
    for seq in range(3):
        journal.append(seq, b"entry %d" % seq)
    journal.remove(0)
    journal.drop_before(1)
    assert journal.read(2) == b"entry 2"
    assert sorted(journal.entries) == [1, 2]
    with pytest.raises(KeyError):
        journal.read(0)


def test_a_copy_of_a_journal_goes_its_own_way() -> None:
    journal = MemoryJournal()
    journal.append(0, b"shared")
    other = copy.deepcopy(journal)
    other.append(1, b"of the copy")
    assert sorted(journal.entries) == [0]


def test_runs_lie_where_they_are_told_or_in_a_directory_of_their_own(tmp_path: Path) -> None:
    assert MemoryJournal(tmp_path / "runs").runs == tmp_path / "runs"
    one, other = MemoryJournal(), MemoryJournal()
    assert one.runs == one.runs
    assert one.runs != other.runs
