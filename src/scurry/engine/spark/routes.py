"""Slots and Spark's partitions.

Spark hashes the grouping column once more to choose a partition, and the hashes of 0, 1, 2 ...
collide: two slots in one partition would run one after the other while another core idles. So each
slot is given a grouping value that Spark's hash sends to the partition of the slot's own number.
"""

from __future__ import annotations

_U32 = 0xFFFFFFFF
_SEED = 42


def spark_hash(value: int) -> int:
    """Spark's Murmur3 hash of an int column, as a signed 32-bit number."""
    mixed = value * 0xCC9E2D51 & _U32
    mixed = (mixed << 15 | mixed >> 17) & _U32
    mixed = mixed * 0x1B873593 & _U32
    state = _SEED ^ mixed
    state = (state << 13 | state >> 19) & _U32
    state = (state * 5 + 0xE6546B64) & _U32
    state ^= 4
    state = (state ^ state >> 16) * 0x85EBCA6B & _U32
    state = (state ^ state >> 13) * 0xC2B2AE35 & _U32
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def route_values(slots: int) -> list[int]:
    """For each slot the grouping value that lands in the partition of the same number."""
    found: dict[int, int] = {}
    value = 0
    while len(found) < slots:
        found.setdefault(spark_hash(value) % slots, value)
        value += 1
    return [found[slot] for slot in range(slots)]
