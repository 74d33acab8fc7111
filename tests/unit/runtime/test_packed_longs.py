"""Whole numbers beside records arrive as they were sent, in fewer bytes where they are regular."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, Batch
from scurry.runtime.blobs import decode_batch, encode_batch
from scurry.runtime.columns import ElementCodec

NAMES = ("ts", "wm", "pos", "tick")
SIZE = 100


def numbers(steps: Any) -> Any:
    return st.tuples(
        st.integers(MIN_WATERMARK, MAX_WATERMARK), st.lists(steps, min_size=SIZE, max_size=SIZE)
    ).map(lambda drawn: np.array([drawn[0], *drawn[1]], np.int64).cumsum()[:SIZE])


any_column = st.one_of(
    numbers(st.integers(0, 3)),
    numbers(st.integers(-128, 127)),
    numbers(st.integers(-40_000, 40_000)),
    numbers(st.integers(-(1 << 33), 1 << 33)),
    st.lists(st.integers(MIN_WATERMARK, MAX_WATERMARK), min_size=SIZE, max_size=SIZE).map(
        lambda drawn: np.array(drawn, np.int64)
    ),
)


@settings(max_examples=150, deadline=None)
@given(
    columns=st.lists(any_column, min_size=1, max_size=3),
    picks=st.lists(st.none() | st.integers(0, 2), min_size=6, max_size=6),
    size=st.sampled_from([1, 5, SIZE]),
    nulls=st.booleans(),
)
def test_what_arrives_is_what_was_sent(
    columns: list[Any], picks: list[int | None], size: int, nulls: bool
) -> None:
    columns = [column[:size] for column in columns]
    chosen = [None if at is None else columns[at % len(columns)] for at in picks]
    *times, keys, field = chosen
    held = None
    if field is not None:
        mask = np.arange(size) % 2 == 0 if nulls else None
        held = pa.RecordBatch.from_arrays([pa.array(field, mask=mask)], ["f"])
    batch = Batch(
        [None] * size if held is None else None,
        columns=held,
        codec=None if held is None else ElementCodec.of_tuples(held.schema),
        **dict(zip(NAMES, times, strict=True)),
    )
    batch.key_column = keys
    sent = decode_batch(encode_batch(batch))
    for name in (*NAMES, "key_column"):
        before, after = getattr(batch, name), getattr(sent, name)
        assert (before is None) == (after is None)
        assert before is None or before.tolist() == after.tolist()
    assert sent.rows == batch.rows


@pytest.mark.parametrize(
    ("tick", "most"),
    [(np.arange(1000) * 3, 1500), (np.arange(1000) * 3000, 2500), (np.arange(1000) << 40, 8500)],
)
def test_regular_numbers_take_few_bytes(tick: Any, most: int) -> None:
    times = np.arange(1000, dtype=np.int64)
    fields = pa.RecordBatch.from_arrays([pa.array(times), pa.array([None] * 1000)], ["at", "f"])
    plain = Batch(None, columns=fields, codec=ElementCodec.of_tuples(fields.schema))
    timed = plain.alias()
    timed.ts = timed.key_column = times
    timed.wm = timed.pos = times - 1
    timed.tick = tick
    more = len(encode_batch(timed)) - len(encode_batch(plain))
    assert 1000 < more < most + 1200


def test_keys_of_other_types_travel_as_they_are() -> None:
    for keys in ([1, True, 2.0, "a", None] * 30, [1 << 70] * 150, list(range(150))):
        batch = Batch([0] * 150)
        batch.keys = keys
        found = decode_batch(encode_batch(batch)).keys
        assert found == keys
        assert pickle.dumps(found) == pickle.dumps(list(keys))
