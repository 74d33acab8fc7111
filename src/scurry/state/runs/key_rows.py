"""Keys as columns: rows of one width, and a hash of each, by which they are ordered.

Columns of numbers are sorted, searched and merged many times faster than columns of strings. The
order of two keys with one hash is that of the keys, so that there is one order in all runs.

A table has one of two orders. In the order of the whole key, records are found one by one, and no
two of them have anything to do with each other. Where one key of the user's has many records, the
entries of a map or the pieces of a list, their keys begin with a common *prefix*. In the order of
the prefix, the upper half of the hash is that of the prefix, and the lower half that of what
follows. So all records below a prefix lie in one stretch, and one of them is found as in the other
order.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.bytes_]
Hashes = npt.NDArray[np.uint64]
Positions = npt.NDArray[np.intp]
Marks = npt.NDArray[np.bool_]
#: Bytes of a row behind the key: the length of the key.
TAIL = 2
_SHIFT = np.uint64(32)
_FACTORS = np.uint64(0xD6E8FEB86659FD93), np.uint64(0x9E3779B97F4A7C15)
_INT_FACTORS = [int(factor) for factor in _FACTORS]
_WORD = (1 << 64) - 1
#: The half of a hash that tells the records below a prefix apart.
_LOWER = np.uint64((1 << 32) - 1)
#: Bytes of a prefix before what its length is told of, see :func:`prefix_length`.
_BEFORE = 4
#: By number of bytes: a word of which so many bytes, the first ones, count.
_FIRST_BYTES = np.array(
    [int.from_bytes(b"\xff" * count + bytes(8 - count), sys.byteorder) for count in range(9)],
    dtype=np.uint64,
)


class Order(IntEnum):
    """By what the rows of a table are ordered. The numbers are stored."""

    KEY = 0
    PREFIX = 1


def prefix_length(key: bytes) -> int:
    """How many bytes of ``key`` are its prefix: two for the key group, two that say how many bytes
    follow, and those."""
    return min(len(key), _BEFORE + int.from_bytes(key[2:4], "big"))


class LongKeyError(Exception):
    """A key is longer than the rows that it should be in."""


@dataclass(slots=True, eq=False)
class KeyRows:
    """Keys, padded with zeros to one width and followed by their lengths, and their hashes."""

    rows: Rows
    hashes: Hashes

    @classmethod
    def of(cls, keys: Sequence[bytes], width: int, by: Order = Order.KEY) -> KeyRows:
        """``keys`` in rows of ``width``, a multiple of eight, to be ordered ``by`` that."""
        lengths = np.fromiter(map(len, keys), dtype=">u2", count=len(keys))
        if len(keys) and lengths.max() > width:
            raise LongKeyError
        padded = np.array(keys, dtype=f"S{width}")
        rows = np.empty((len(keys), width + TAIL), dtype=np.uint8)
        rows[:, :width] = padded.view(np.uint8).reshape(-1, width)
        rows[:, width:] = lengths.view(np.uint8).reshape(-1, TAIL)
        words = padded.view(np.uint64).reshape(-1, width // 8).T
        if by is Order.PREFIX:
            hashes = _hashed_in_halves(words, lengths, _prefix_lengths(rows, lengths))
        else:
            hashes = _mixed(lengths.astype(np.uint64))
            for at, part in enumerate(words):
                hashes += _hashed_word(part, at)
        return cls(rows.reshape(-1).view(f"S{width + TAIL}"), hashes)

    def __len__(self) -> int:
        return len(self.hashes)

    def take(self, at: Positions | Marks | slice) -> KeyRows:
        """Some of them."""
        return KeyRows(self.rows[at], self.hashes[at])

    @property
    def width(self) -> int:
        """How long a key may be."""
        return self.rows.itemsize - TAIL

    def _plain(self) -> tuple[npt.NDArray[np.uint8], Positions]:
        """The bytes of the keys, padded, and how many there are of each."""
        plain = self.rows.view(np.uint8).reshape(len(self), self.rows.itemsize)
        lengths = np.ascontiguousarray(plain[:, -TAIL:]).view(">u2").reshape(-1)
        return plain[:, :-TAIL], lengths.astype(np.intp)

    def keys(self) -> list[bytes]:
        """The keys again."""
        plain, lengths = self._plain()
        keys: list[bytes] = np.ascontiguousarray(plain).view(f"S{self.width}").reshape(-1).tolist()
        # numpy takes zeros at the end for padding, even if they belong to the key
        for at in np.flatnonzero(plain[np.arange(len(self)), lengths - 1] == 0).tolist():
            keys[at] = keys[at].ljust(int(lengths[at]), b"\0")
        return keys

    def rests(self) -> list[bytes]:
        """What follows the prefixes in the keys."""
        ends = _prefix_lengths(*self._plain()).tolist()
        return [key[end:] for key, end in zip(self.keys(), ends, strict=True)]

    def are_below(self, prefixes: KeyRows) -> Marks:
        """Which of these keys have the prefix beside them."""
        mine, lengths = self._plain()
        theirs, ends = prefixes._plain()
        below: Marks = _prefix_lengths(mine, lengths) == ends
        for at, (part, prefix) in enumerate(zip(_words(mine), _words(theirs), strict=False)):
            below &= (part & _first_bytes(ends, at)) == prefix
        return below

    def widened(self, width: int) -> KeyRows:
        """The same keys in wider rows; their hashes and their order stay."""
        return KeyRows(KeyRows.of(self.keys(), width).rows, self.hashes)

    def order(self) -> Positions:
        """How to sort them; equal keys stay in order."""
        order = self.hashes.argsort()
        if not len(self._same_hash(order)):
            return order
        order = self.hashes.argsort(kind="stable")
        same = self._same_hash(order)
        differ = same[self.rows[order[same]] != self.rows[order[same + 1]]]
        if len(differ):
            # only keys whose hashes are not theirs alone have to be compared, which takes long
            shared = np.isin(self.hashes[order], self.hashes[order[differ]])
            those = order[shared]
            order[shared] = those[np.lexsort((self.rows[those], self.hashes[those]))]
        return order

    def first_of_equals(self, order: Positions) -> Positions:
        """Of the keys in ``order`` the first of those that are equal."""
        same = self._same_hash(order)
        if not len(same):
            return order
        same = same[self.rows[order[same]] == self.rows[order[same + 1]]]
        return np.delete(order, same + 1)

    def _same_hash(self, order: Positions) -> Positions:
        ordered = self.hashes[order]
        return np.flatnonzero(ordered[1:] == ordered[:-1])

    def find(self, wanted: KeyRows) -> tuple[Positions, Marks]:
        """Where the keys ``wanted`` are among these, which are sorted, and which are there at all;
        quicker if ``wanted`` is sorted too."""
        at = self.hashes.searchsorted(wanted.hashes)
        at[at == len(self)] = 0
        alike = np.flatnonzero(self.hashes[at] == wanted.hashes)
        there = np.zeros(len(wanted), dtype=np.bool_)
        while len(alike):
            equal = self.rows[at[alike]] == wanted.rows[alike]
            there[alike[equal]] = True
            # another key with the same hash: the one wanted may follow
            alike = alike[~equal]
            at[alike] += 1
            alike = alike[at[alike] < len(self)]
            alike = alike[self.hashes[at[alike]] == wanted.hashes[alike]]
        at[~there] = 0
        return at, there


def joined(parts: Sequence[KeyRows]) -> KeyRows:
    """Several columns of one width as one."""
    rows, hashes = zip(*((part.rows, part.hashes) for part in parts), strict=True)
    return KeyRows(np.concatenate(rows), np.concatenate(hashes))


def rank(key: bytes, by: Order = Order.KEY) -> tuple[int, bytes]:
    """Keys compare by this as they are ordered."""
    return hash_of(key, by), key


def row_of(key: bytes, width: int) -> bytes:
    """The row of a key by itself, as numpy gives it, without zeros at the end."""
    return (key.ljust(width, b"\0") + len(key).to_bytes(TAIL, "big")).rstrip(b"\0")


def hash_of(key: bytes, by: Order) -> int:
    """The hash of one key, many times quicker than as a column of one."""
    words = [key[at : at + 8].ljust(8, b"\0") for at in range(0, len(key), 8)]
    if by is Order.KEY:
        return _sum_of_mixed(len(key), words) & _WORD
    end = prefix_length(key)
    before = [key[at : min(at + 8, end)].ljust(8, b"\0") for at in range(0, end, 8)]
    behind = [bytes(8)] * (end // 8) + words[end // 8 :]
    if end % 8 and len(behind) > end // 8:
        cut = end // 8
        behind[cut] = bytes(end % 8) + behind[cut][end % 8 :]
    upper, lower = _sum_of_mixed(end, before), _sum_of_mixed(len(key), behind)
    return (upper << 32 | lower & 0xFFFFFFFF) & _WORD


def _sum_of_mixed(length: int, words: list[bytes]) -> int:
    total = int(_mixed_one(length))
    for at, word in enumerate(words):
        number = int.from_bytes(word, sys.byteorder)
        if number:
            total += int(_mixed_one(number + at + 1 & _WORD))
    return total


def _mixed_one(number: int) -> int:
    """:func:`_mixed` of one number."""
    for factor in _INT_FACTORS:
        number = (number ^ number >> 32) * factor & _WORD
    return number ^ number >> 32


def upper_halves(hashes: Hashes) -> Hashes:
    """What the hashes of all keys below one prefix have in common."""
    return hashes & ~_LOWER


def greatest_below(halves: Hashes) -> Hashes:
    """The greatest hashes that have these upper halves."""
    return halves | _LOWER


def row_width(length: int) -> int:
    """A width for keys of that length: not each longer key needs another."""
    return max(8, -(-length // 8) * 8)


def _prefix_lengths(rows: npt.NDArray[np.uint8], lengths: npt.NDArray[Any]) -> Positions:
    """:func:`prefix_length` of keys of these lengths, which stand in rows."""
    told: Positions = rows[:, 2].astype(np.intp) << 8 | rows[:, 3]
    return np.minimum(told + _BEFORE, lengths.astype(np.intp))


def _hashed_in_halves(words: Hashes, lengths: npt.NDArray[Any], prefixes: Positions) -> Hashes:
    """The hashes of keys, which are given as columns of words, in the order of their prefixes."""
    upper, lower = _mixed(prefixes.astype(np.uint64)), _mixed(lengths.astype(np.uint64))
    for at, part in enumerate(words):
        mask = _first_bytes(prefixes, at)
        upper += _hashed_word(part & mask, at)
        lower += _hashed_word(part & ~mask, at)
    return (upper << _SHIFT) | (lower & _LOWER)


def _words(padded: npt.NDArray[np.uint8]) -> Hashes:
    """Padded keys as columns of words."""
    return np.ascontiguousarray(padded).view(np.uint64).T


def _first_bytes(lengths: Positions, at: int) -> Hashes:
    """What is left of the words that stand ``at`` a place of keys if only the first bytes of the
    keys count, so many as ``lengths`` say."""
    return _FIRST_BYTES[np.clip(lengths - 8 * at, 0, 8)]


def _hashed_word(words: Hashes, at: int) -> Hashes:
    """What the words that stand ``at`` a place of keys add to the hashes of these. Words of padding
    add nothing: a key has one hash, whatever the width."""
    return np.where(words == 0, words, _mixed(words + np.uint64(at + 1)))


def _mixed(numbers: Hashes) -> Hashes:
    """Numbers of which every bit depends on every bit of ``numbers``."""
    for factor in _FACTORS:
        numbers = numbers ^ (numbers >> _SHIFT)
        numbers *= factor
    return numbers ^ (numbers >> _SHIFT)
