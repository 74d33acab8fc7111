"""State that is dealt out to another number of key groups lies where the job will look for it."""

from __future__ import annotations

from typing import Any

import pytest

from scurry.common.errors import StateError
from scurry.common.keys import freeze, key_group, slot_of_group
from scurry.common.windows import TimeWindow, WindowKey
from scurry.runtime.rescaling import rule_of
from scurry.state.journal import stored_key
from scurry.state.rescaling import Shares, by_key_group
from scurry.state.tables.table import address, prefix_of

KEYS: list[Any] = [
    *(0, 7, -3, 2**70, "a", "ä", "", None, True, 2.5, b"\x00\xff", ("t", 6), ("n", (1, "x"))),
    "x" * 299,
]
SHARES = Shares(tuple(slot_of_group(group, 3, 50) for group in range(50)), 3, 0, True)


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_addresses_are_those_of_the_new_number(key: Any) -> None:
    frozen = freeze(key)
    windowed = WindowKey(frozen, TimeWindow(10, 20))
    slot = slot_of_group(key_group(frozen, 50), 3, 50)
    for found in (frozen, windowed):
        pieces = by_key_group()([address(found, 128)], [b"r"], SHARES)
        assert list(pieces) == [(slot, address(found, 50), b"r")]
        pieces = by_key_group()([prefix_of(found, 128) + b"tail"], [None], SHARES)
        assert list(pieces) == [(slot, prefix_of(found, 50) + b"tail", None)]
    timed = b"12345678" + address(frozen, 128)
    rule = rule_of("uid\x1f#event-timers")
    assert rule is not None
    assert list(rule([timed], [b""], SHARES)) == [(slot, timed[:8] + address(frozen, 50), b"")]


def test_keys_that_are_stored_by_a_digest_are_refused() -> None:
    for stored in (stored_key(address("x" * 1000, 128)), prefix_of("x" * 1000, 128)):
        with pytest.raises(StateError, match=r"number of key groups.*cannot be changed"):
            list(by_key_group()([stored], [b""], SHARES))
