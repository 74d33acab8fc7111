"""Keys as columns: rows of one width, and a hash of each, by which they are ordered.

Columns of numbers are sorted, searched and merged many times faster than columns of strings. The
order of two keys with one hash is that of the keys, so that there is one order in all runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


class LongKeyError(Exception):
    """A key is longer than the rows that it should be in."""


@dataclass(slots=True, eq=False)
class KeyRows:
    """Keys, padded with zeros to one width and followed by their lengths, and their hashes."""

    rows: Rows
    hashes: Hashes

    @classmethod
    def of(cls, keys: Sequence[bytes], width: int) -> KeyRows:
        """``keys`` in rows of ``width``, a multiple of eight."""
        lengths = np.fromiter(map(len, keys), dtype=">u2", count=len(keys))
        if len(keys) and lengths.max() > width:
            raise LongKeyError
        padded = np.array(keys, dtype=f"S{width}")
        rows = np.empty((len(keys), width + TAIL), dtype=np.uint8)
        rows[:, :width] = padded.view(np.uint8).reshape(-1, width)
        rows[:, width:] = lengths.view(np.uint8).reshape(-1, TAIL)
        hashes = _mixed(lengths.astype(np.uint64))
        for at, words in enumerate(padded.view(np.uint64).reshape(-1, width // 8).T):
            # words of padding count for nothing: a key has one hash, whatever the width
            hashes += np.where(words == 0, words, _mixed(words + np.uint64(at + 1)))
        return cls(rows.reshape(-1).view(f"S{width + TAIL}"), hashes)

    def __len__(self) -> int:
        return len(self.hashes)

    def take(self, at: Positions | Marks | slice) -> KeyRows:
        """Some of them."""
        return KeyRows(self.rows[at], self.hashes[at])

    def keys(self) -> list[bytes]:
        """The keys again."""
        plain = self.rows.view(np.uint8).reshape(len(self), -1)
        lengths = np.ascontiguousarray(plain[:, -TAIL:]).view(">u2").reshape(-1).tolist()
        width = plain.shape[1] - TAIL
        cut = np.ascontiguousarray(plain[:, :-TAIL]).view(f"S{width}").reshape(-1).tolist()
        return [key.ljust(length, b"\0") for key, length in zip(cut, lengths, strict=True)]

    def widened(self, width: int) -> KeyRows:
        """The same keys in wider rows; their order stays."""
        return KeyRows.of(self.keys(), width)

    def order(self) -> Positions:
        """How to sort them; equal keys stay in order."""
        order = self.hashes.argsort()
        if not len(self._same_hash(order)):
            return order
        order = self.hashes.argsort(kind="stable")
        same = self._same_hash(order)
        if (self.rows[order[same]] != self.rows[order[same + 1]]).any():
            return np.lexsort((self.rows, self.hashes))
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


def rank(key: bytes) -> tuple[int, bytes]:
    """Keys compare by this as they are ordered."""
    return int(KeyRows.of([key], row_width(len(key))).hashes[0]), key


def row_width(length: int) -> int:
    """A width for keys of that length: not each longer key needs another."""
    return max(8, -(-length // 8) * 8)


def _mixed(numbers: Hashes) -> Hashes:
    """Numbers of which every bit depends on every bit of ``numbers``."""
    for factor in _FACTORS:
        numbers = numbers ^ (numbers >> _SHIFT)
        numbers *= factor
    return numbers ^ (numbers >> _SHIFT)
