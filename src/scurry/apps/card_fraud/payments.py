"""Payments, and a source that makes them up.

A source has to return the same records whenever it is asked for the same range. A generator can do
that if it knows how to start anywhere: payments are made in blocks, and each block has a random
generator of its own, seeded by the stream's seed and the block's number.

Time works backwards here. Payments *arrive* evenly; each happened a little earlier, by a delay that
differs from payment to payment, so the stream is out of order. Nearly all delays stay below
:data:`MAX_DELAY_MS`, the bound that the job's watermarks allow for. A few are far longer: these
payments are late.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.common.typeinfo import TypeInformation, Types
from scurry.datastream.functions import (
    ReadPlan,
    ReadRange,
    Source,
    SourceBatch,
    SourceEnumerator,
)

#: 2025-03-03 08:00 UTC, when the first payment arrives.
START_MS = 1_740_988_800_000
#: Time between two arrivals.
GAP_MS = 12
#: A payment that comes longer than this after a younger one may be late.
MAX_DELAY_MS = 10_000
CATEGORIES = (
    "books",
    "clothes",
    "electronics",
    "fuel",
    "groceries",
    "music",
    "restaurants",
    "travel",
)

_BLOCK = 8_192
_CARDS = 20_000
_LATE_SHARE = 0.002
_TRIALS_PER_BLOCK = 24


@dataclass(frozen=True, slots=True)
class Payment:
    """A charge to a card. Money is counted in cents, so that sums are exact."""

    card: int
    category: str
    cents: int
    time_ms: int


class PaymentSource(Source):
    """``events`` payments; the same ``seed`` gives the same ones."""

    columnar = True
    max_tasks = 1

    def __init__(self, events: int, seed: int) -> None:
        self.events = events
        self.seed = seed

    @property
    def type_info(self) -> TypeInformation | None:
        return Types.of(Payment)

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return _PaymentEnumerator(self.events)

    def read(self, what: Any) -> Iterator[SourceBatch]:
        start, end = what
        for number in range(start // _BLOCK, (end - 1) // _BLOCK + 1):
            first = number * _BLOCK
            columns = _block(self.seed, number)
            low, high = max(start - first, 0), min(end - first, _BLOCK)
            times = columns.column("time_ms").to_numpy()
            yield SourceBatch(columns=columns.slice(low, high - low), timestamps=times[low:high])

    def payments(self) -> Iterator[Payment]:
        """All payments in the order they arrive, outside any job."""
        for batch in self.read([0, self.events]):
            assert batch.columns is not None
            fields = (column.to_pylist() for column in batch.columns.columns)
            yield from map(Payment, *fields)


class _PaymentEnumerator(SourceEnumerator):
    """Hands out ranges of the stream, as one partition; the position is a payment's number."""

    def __init__(self, events: int) -> None:
        self._events = events

    def initial_position(self) -> int:
        return 0

    def plan(self, position: int, max_records: int) -> ReadPlan:
        end = min(self._events, position + max_records)
        ranges = [ReadRange("0", [position, end])] if end > position else []
        return ReadPlan(end, ranges, finished=end == self._events)


def _block(seed: int, number: int) -> pa.RecordBatch:
    """Block ``number`` of the stream, as columns in the order of Payment's fields."""
    draw = np.random.default_rng([seed % (1 << 63), number])
    cards = draw.integers(0, _CARDS, _BLOCK)
    cents = np.maximum(draw.lognormal(mean=8.0, sigma=1.6, size=_BLOCK), 1).astype(np.int64)
    delays = np.minimum(draw.exponential(MAX_DELAY_MS / 6, _BLOCK), MAX_DELAY_MS).astype(np.int64)
    late = draw.random(_BLOCK) < _LATE_SHARE
    delays[late] += draw.integers(MAX_DELAY_MS, 12 * MAX_DELAY_MS, int(late.sum()))
    _try_cards(draw, cards, cents)
    arrivals = START_MS + GAP_MS * np.arange(number * _BLOCK, (number + 1) * _BLOCK)
    categories = pa.DictionaryArray.from_arrays(
        pa.array(draw.integers(0, len(CATEGORIES), _BLOCK)), pa.array(CATEGORIES)
    ).cast(pa.string())
    return pa.RecordBatch.from_arrays(
        [pa.array(cards), categories, pa.array(cents), pa.array(arrivals - delays)],
        names=["card", "category", "cents", "time_ms"],
    )


def _try_cards(draw: np.random.Generator, cards: Any, cents: Any) -> None:
    """Plant small charges followed by large ones, not all of them soon enough to be fraud."""
    gaps = draw.integers(1, 7_000, _TRIALS_PER_BLOCK)
    small = draw.integers(0, _BLOCK, _TRIALS_PER_BLOCK)
    fits = small + gaps < _BLOCK
    small, large = small[fits], (small + gaps)[fits]
    cards[large] = cards[small]
    cents[small] = draw.integers(1, 100, len(small))
    cents[large] = draw.integers(50_001, 400_000, len(large))
