"""Columns as Python values: those that Arrow gives, of all units and as far as years go."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.runtime.columns import to_list

_STEPS = {
    "s": timedelta(seconds=1),
    "ms": timedelta(milliseconds=1),
    "us": timedelta(microseconds=1),
}
_FIRST = datetime.fromisoformat("0001-01-01")
_LAST = datetime.fromisoformat("9999-12-31T23:59:59")


@given(st.sampled_from(list(_STEPS)), st.lists(st.datetimes(), max_size=5), st.booleans())
def test_times(unit: str, times: list[datetime], null: bool) -> None:
    whole = [_FIRST + (time - _FIRST) // _STEPS[unit] * _STEPS[unit] for time in times]
    values: list[Any] = [_FIRST, *whole, _LAST]
    values += [None] * null
    column = pa.array([None, *values], pa.timestamp(unit)).slice(1)
    assert to_list(column) == values
    assert {type(one) for one in to_list(column)} <= {datetime, type(None)}


@pytest.mark.parametrize("unit", _STEPS)
def test_times_that_no_datetime_can_be(unit: str) -> None:
    number = int(timedelta(days=400 * 366 * 30) / _STEPS[unit])
    with pytest.raises(OverflowError):
        to_list(pa.array([number], pa.int64()).cast(pa.timestamp(unit)))


def test_times_with_a_zone_keep_it() -> None:
    times = [datetime(2024, 2, 29, 1, 2, 3, tzinfo=UTC)]
    (found,) = to_list(pa.array(times, pa.timestamp("ms", "UTC")))
    assert found == times[0]
    assert found.utcoffset() == timedelta(0)
