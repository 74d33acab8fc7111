"""Keys as whole numbers: a key that is an integer is its own code, others are numbered.

As long as all keys are integers nothing is looked up. With the first key that is not, all keys are
numbered in a dict, which knows which of them Python takes to be equal; codes handed out before are
translated once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from scurry.common.keys import freeze_all, key_group, stable_hash_int64, thaw
from scurry.runtime.batch import Longs
from scurry.runtime.columnar.exact import Array
from scurry.state.codecs.encoding import decode, encode
from scurry.state.tables.table import prefix_of

_LONGS = range(-(1 << 63), 1 << 63)
_INTEGERS = b"i"
_OBJECTS = b"o"
#: Keys of many rows, whole numbers as a column.
Keys = list[Any] | Longs


class KeyCodes:
    """The codes of one operator and slot."""

    def __init__(self, max_parallelism: int) -> None:
        self._max_parallelism = max_parallelism
        #: None as long as integers are their own codes
        self._numbers: dict[Any, int] | None = None
        self._keys: list[Any] = []
        self._addresses: list[bytes] = []

    @property
    def size(self) -> int:
        """How many keys are numbered."""
        return len(self._keys)

    @property
    def numbered(self) -> bool:
        """Whether keys are numbered."""
        return self._numbers is not None

    def number(self) -> None:
        """Number keys from now on. Codes handed out before were the keys themselves, and have to be
        translated by the caller."""
        self._numbers, self._keys, self._addresses = {}, [], []

    def codes(self, keys: list[Any]) -> Longs | None:
        """The codes of keys, None if :meth:`number` must be called first."""
        numbers = self._numbers
        if numbers is None:
            if set(map(type, keys)) <= {int} and all(key in _LONGS for key in keys):
                return np.array(keys, dtype=np.int64)
            return None
        for key in dict.fromkeys(keys):
            if key not in numbers:
                numbers[key] = len(self._keys)
                self._keys.append(key)
                self._addresses.append(prefix_of(key, self._max_parallelism))
        return np.fromiter(map(numbers.__getitem__, keys), np.int64, len(keys))

    def keys(self, codes: Longs) -> list[Any]:
        """The keys behind codes."""
        if self._numbers is None:
            return list(codes.tolist())
        return list(map(self._keys.__getitem__, codes.tolist()))

    def results(self, codes: Longs) -> pa.Array | list[Any]:
        """The user's keys behind codes, as a column where they are integers."""
        return pa.array(codes) if self._numbers is None else list(map(thaw, self.keys(codes)))

    def ranks(self, codes: Longs) -> list[Array]:
        """Columns to sort by, the last first, for the order of the keys' addresses."""
        if self._numbers is not None:
            distinct, inverse = np.unique(codes, return_inverse=True)
            addresses = [self._addresses[code] for code in distinct.tolist()]
            order = sorted(range(len(addresses)), key=addresses.__getitem__)
            rank = np.empty(len(order), dtype=np.int64)
            rank[order] = np.arange(len(order))
            return [rank[inverse]]
        groups = stable_hash_int64(codes) % np.uint64(self._max_parallelism)
        if len(codes) and int(codes.min()) >= 0:
            return [codes, groups]
        # an address has the length of the number in digits, then the digits
        size = np.array([len(str(code)) for code in codes.tolist()], dtype=np.int64)
        magnitude = np.where(codes < 0, -(codes + 1), codes).astype(np.uint64)
        return [magnitude, codes >= 0, size, groups]

    def pack(self, codes: Longs) -> bytes:
        """The keys behind codes as bytes."""
        return pack_keys(codes if self._numbers is None else self.keys(codes))

    @staticmethod
    def unpack(data: bytes) -> Keys:
        """The keys behind :meth:`pack`'s bytes."""
        if data[:1] == _INTEGERS:
            return np.frombuffer(data, dtype=np.int64, offset=1)
        return freeze_all(decode(memoryview(data)[1:]))


def pack_keys(keys: Keys) -> bytes:
    """Keys as bytes, whole numbers as a column."""
    if isinstance(keys, np.ndarray):
        return _INTEGERS + keys.tobytes()
    return _OBJECTS + encode(keys)


def groups_of_keys(keys: Keys, max_parallelism: int) -> Longs:
    """The key groups of keys."""
    if isinstance(keys, np.ndarray):
        return (stable_hash_int64(keys) % np.uint64(max_parallelism)).astype(np.int64)
    return np.array([key_group(key, max_parallelism) for key in keys], dtype=np.int64)
