"""Generators of single columns, by the type of their values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scurry.common.data_types import DataType, DecimalType

Numbers = NDArray[np.int64]
Bits = NDArray[np.uint64]


def hashed(numbers: Numbers, salt: int) -> Bits:
    """64 random bits for each number, the same ones every time (the finaliser of splitmix64)."""
    bits = numbers.astype(np.uint64) + np.uint64(1)
    bits = bits * np.uint64(0x9E3779B97F4A7C15)
    bits = bits + np.uint64(salt * 0xD1B54A32D192ED03 % (1 << 64))
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def fractions(bits: Bits) -> NDArray[np.float64]:
    """Random numbers from 0 up to, but not including, 1."""
    return (bits >> np.uint64(11)).astype(np.float64) / float(1 << 53)


class ColumnGenerator(ABC):
    """Makes the values of one column."""

    #: how many values there are, None without an end
    count: int | None = None

    @abstractmethod
    def values(self, numbers: Numbers, salt: int, now: int) -> pa.Array:
        """The values of the rows of those numbers; ``now`` is in milliseconds."""


class Nullable(ColumnGenerator):
    """A generator of which a part of the values is NULL."""

    def __init__(self, inner: ColumnGenerator, rate: float) -> None:
        self._inner = inner
        self._rate = rate
        self.count = inner.count

    def values(self, numbers: Numbers, salt: int, now: int) -> pa.Array:
        gone = fractions(hashed(numbers, salt + 7919)) < self._rate
        places = pa.array(np.arange(len(numbers)), mask=gone)
        return self._inner.values(numbers, salt, now).take(places)


class Booleans(ColumnGenerator):
    """True or false."""

    def values(self, numbers: Numbers, salt: int, now: int) -> pa.Array:
        return pa.array(hashed(numbers, salt) & np.uint64(1) == 1)


class Integers(ColumnGenerator):
    """Whole numbers from ``least`` to ``most``, both included."""

    def __init__(self, data_type: DataType, least: int, most: int) -> None:
        self._type = data_type.arrow_type()
        self._least, self._span = least, most - least + 1

    def values(self, numbers: Numbers, salt: int, now: int) -> pa.Array:
        bits = hashed(numbers, salt)
        if self._span < 1 << 64:
            bits = bits % np.uint64(self._span)
        with np.errstate(over="ignore"):
            found = (bits + np.uint64(self._least % (1 << 64))).astype(np.int64)
        return pa.array(found).cast(self._type)


class Fractional(ColumnGenerator):
    """Numbers from ``least`` to ``most``: FLOAT, DOUBLE or DECIMAL."""

    def __init__(self, data_type: DataType, least: float, most: float) -> None:
        self._data_type = data_type
        self._least, self._most = least, most

    def values(self, numbers: Numbers, salt: int, now: int) -> pa.Array:
        part = fractions(hashed(numbers, salt))
        found = self._least * (1 - part) + self._most * part
        if isinstance(self._data_type, DecimalType):
            kind = self._data_type
            limit = 10.0 ** (kind.precision - kind.scale) - 10.0**-kind.scale
            found = np.clip(np.round(found, kind.scale), -limit, limit)
            return pa.array(found).cast(kind.arrow_type(), safe=False)
        return pa.array(found).cast(self._data_type.arrow_type())


class Texts(ColumnGenerator):
    """Hexadecimal digits, ``length`` of them, or up to so many; as bytes for binary columns."""

    def __init__(self, data_type: DataType, length: int, variable: bool = False) -> None:
        self._type = data_type.arrow_type()
        self._length = length
        self._variable = variable

    def values(self, numbers: Numbers, salt: int, now: int) -> pa.Array:
        words = -(-self._length // 16)
        parts = [hashed(numbers, salt * 1000 + word) for word in range(words)]
        texts = ["".join(f"{bits:016x}" for bits in row) for row in zip(*parts, strict=True)]
        if not words:
            texts = [""] * len(numbers)
        lengths = [self._length] * len(numbers)
        if self._variable:
            bits = hashed(numbers, salt * 1000 + words)
            lengths = (bits % np.uint64(max(1, self._length)) + np.uint64(1)).tolist()
        cut = [text[:length] for text, length in zip(texts, lengths, strict=True)]
        return pa.array(cut, pa.string()).cast(self._type)


class Moments(ColumnGenerator):
    """Times up to ``max_past`` milliseconds before the clock: dates, timestamps."""

    def __init__(self, data_type: DataType, max_past: int) -> None:
        self._type = data_type.arrow_type()
        self._past = max_past

    def values(self, numbers: Numbers, salt: int, now: int) -> pa.Array:
        back = (hashed(numbers, salt) % np.uint64(self._past + 1)).astype(np.int64)
        moments = pa.array(now - back).cast(pa.timestamp("ms", getattr(self._type, "tz", None)))
        if pa.types.is_date(self._type):
            days = (now - back) // 86_400_000
            return pa.array(days.astype(np.int32)).cast(self._type)
        return moments.cast(self._type)


class TimesOfDay(ColumnGenerator):
    """Times of a day."""

    def __init__(self, data_type: DataType) -> None:
        self._type = data_type.arrow_type()

    def values(self, numbers: Numbers, salt: int, now: int) -> pa.Array:
        millis = (hashed(numbers, salt) % np.uint64(86_400_000)).astype(np.int32)
        return pa.array(millis).cast(pa.time32("ms")).cast(self._type)


class Sequences(ColumnGenerator):
    """The whole numbers from ``start`` to ``end``, both included, once each."""

    def __init__(self, data_type: DataType, start: int, end: int) -> None:
        self._type = data_type.arrow_type()
        self._start = start
        self.count = end - start + 1

    def values(self, numbers: Numbers, salt: int, now: int) -> pa.Array:
        return pa.array(numbers + self._start).cast(self._type)


class Lists(ColumnGenerator):
    """Arrays of ``length`` elements."""

    def __init__(self, data_type: DataType, inner: ColumnGenerator, length: int) -> None:
        self._type = data_type.arrow_type()
        self._inner = inner
        self._length = length

    def values(self, numbers: Numbers, salt: int, now: int) -> pa.Array:
        flat = self._inner.values(_spread(numbers, self._length), salt + 31, now)
        offsets = np.arange(len(numbers) + 1, dtype=np.int32) * self._length
        return pa.ListArray.from_arrays(pa.array(offsets), flat).cast(self._type)


class Maps(ColumnGenerator):
    """Maps, or multisets, of ``length`` entries."""

    def __init__(
        self,
        data_type: DataType,
        keys: ColumnGenerator,
        values: ColumnGenerator,
        length: int,
    ) -> None:
        self._type = data_type.arrow_type()
        self._keys, self._values = keys, values
        self._length = length

    def values(self, numbers: Numbers, salt: int, now: int) -> pa.Array:
        spread = _spread(numbers, self._length)
        keys = self._keys.values(spread, salt + 37, now)
        values = self._values.values(spread, salt + 41, now)
        offsets = np.arange(len(numbers) + 1, dtype=np.int32) * self._length
        return pa.MapArray.from_arrays(pa.array(offsets), keys, values).cast(self._type)


class Rows(ColumnGenerator):
    """Nested rows."""

    def __init__(self, data_type: DataType, fields: Sequence[ColumnGenerator]) -> None:
        self._type = data_type.arrow_type()
        self._fields = tuple(fields)

    def values(self, numbers: Numbers, salt: int, now: int) -> pa.Array:
        arrays = [
            field.values(numbers, salt * 101 + at + 1, now) for at, field in enumerate(self._fields)
        ]
        return pa.StructArray.from_arrays(arrays, fields=list(self._type))


def _spread(numbers: Numbers, times: int) -> Numbers:
    return np.repeat(numbers, times) * times + np.tile(np.arange(times), len(numbers))
