"""Random numbers that are functions of numbers, a column at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from scurry.common.keys import mix_all

Longs = np.ndarray[Any, np.dtype[np.int64]]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_UNIT = 2.0**-53


class Draws:
    """Draws for the events ``numbers``. Each draw of an event has a ``salt`` of its own."""

    def __init__(self, seed: int, numbers: Longs) -> None:
        with np.errstate(over="ignore"):
            spread = (numbers.astype(np.uint64) + np.uint64(1)) * _GOLDEN
        self._base = mix_all(spread ^ np.uint64(seed * 0x1F123BB5 & (1 << 64) - 1))

    def _raw(self, salt: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
        with np.errstate(over="ignore"):
            mixed: np.ndarray[Any, np.dtype[np.uint64]] = mix_all(
                self._base + np.uint64(salt + 1) * _GOLDEN
            )
        return mixed

    def unit(self, salt: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """A number from 0 up to, but not including, 1."""
        return (self._raw(salt) >> np.uint64(11)).astype(np.float64) * _UNIT

    def below(self, salt: int, bounds: Longs | int) -> Longs:
        """A whole number from 0 up to, but not including, a bound of each event's own."""
        return (self.unit(salt) * bounds).astype(np.int64)

    def pick(self, salt: int, words: list[str]) -> pa.Array:
        """One of ``words``."""
        return pa.array(words).take(pa.array(self.below(salt, len(words))))

    def text(self, salt: int, length: int) -> pa.Array:
        """A text of ``length`` small letters."""
        size = len(self._base)
        if not length:
            return pa.array([""] * size, pa.string())
        words = -(-length // 8)
        raw = np.stack([self._raw(salt + at) for at in range(words)], axis=1)
        letters = raw.view(np.uint8).reshape(size, words * 8)[:, :length] % 26 + ord("a")
        ends = np.arange(0, (size + 1) * length, length, dtype=np.int32)
        data = np.ascontiguousarray(letters).reshape(-1)
        return pa.StringArray.from_buffers(size, pa.py_buffer(ends), pa.py_buffer(data))
