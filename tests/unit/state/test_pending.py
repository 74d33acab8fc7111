"""Changes that are on their way to a local store, against a store that has them."""

from __future__ import annotations

from random import Random

import pytest

from scurry.state.local.memory import MemoryStore
from scurry.state.local.store import Commit
from scurry.state.pending import PendingChanges


def some_key(random: Random) -> bytes:
    # some are so long that stores keep a digest instead
    return bytes([random.randrange(6)]) * random.choice([1, 2, 600])


@pytest.mark.parametrize("seed", range(20))
def test_reads_are_those_of_a_store_that_has_the_changes(seed: int) -> None:
    random = Random(seed)
    before, after = MemoryStore(), MemoryStore()
    reader = PendingChanges(before)
    held = [("t", [some_key(random) for _ in range(5)], [b"old"] * 5)]
    before.apply(Commit(None, b"1", held))
    after.apply(Commit(None, b"1", held))
    groups = [
        ("t", [some_key(random)], [random.choice([None, b"new%d" % at])])
        for at in range(random.randrange(5))
    ]
    reader.put(groups)
    after.apply(Commit(b"1", b"2", groups))
    for table in ("t", "other"):
        asked = [some_key(random) for _ in range(20)]
        assert reader.get_many(table, asked) == after.get_many(table, asked)
        assert [reader.get(table, key) for key in asked] == [after.get(table, key) for key in asked]
        for start in (b"", *asked):
            assert list(reader.scan(table, start)) == list(after.scan(table, start))


def test_when_they_are_stored_they_are_given_back() -> None:
    store = MemoryStore()
    reader = PendingChanges(store)
    reader.put([("t", [b"k"], [b"r"])])
    assert reader.get("t", b"k") == b"r"
    assert reader.take() == [("t", [b"k"], [b"r"])]
    assert reader.get("t", b"k") is None
    assert list(reader.scan("t")) == []
