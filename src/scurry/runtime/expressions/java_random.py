"""Java's random numbers: the linear congruential generator that java.util.Random specifies.

RAND and RAND_INTEGER with a seed give the same numbers as in Flink.
"""

from __future__ import annotations

__all__ = ["JavaRandom"]

_MULTIPLIER = 0x5DEECE66D
_MASK = (1 << 48) - 1


class JavaRandom:
    """A sequence of random numbers that a seed determines."""

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ _MULTIPLIER) & _MASK

    def _next(self, bits: int) -> int:
        self._state = (self._state * _MULTIPLIER + 0xB) & _MASK
        value = self._state >> (48 - bits)
        return value - (1 << bits) if value >= 1 << (bits - 1) else value

    def next_double(self) -> float:
        """A number from 0 up to, but not including, 1."""
        high = (self._next(26) & ((1 << 26) - 1)) << 27
        return (high + (self._next(27) & ((1 << 27) - 1))) / float(1 << 53)

    def next_int(self, bound: int) -> int:
        """An integer from 0 up to, but not including, the bound."""
        if bound & -bound == bound:
            return (bound * (self._next(31) & 0x7FFFFFFF)) >> 31
        while True:
            bits = self._next(31) & 0x7FFFFFFF
            value = bits % bound
            if bits - value + (bound - 1) < 1 << 31:
                return value
