"""Keys and values as JSON: what goes out as a key comes back as the same key."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import math
import uuid
from collections import namedtuple
from decimal import Decimal
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.common import Row
from scurry.common.keys import form_of, freeze
from scurry.queryable.json_values import (
    NotTyped,
    key_from_json,
    key_to_json,
    to_json,
    value_from_json,
)
from scurry.state.codecs.encoding import NULL

Point = namedtuple("Point", ["x", "y"])


@dataclasses.dataclass(frozen=True)
class Card:
    number: str
    expires: dt.date


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 3


def over_the_wire(told: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(told))


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(st.characters()),
    st.binary(),
    st.decimals(allow_nan=False, allow_infinity=False, places=3),
    st.datetimes(),
    st.dates(),
    st.timedeltas(),
    st.uuids(),
)
keys = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6)


@given(keys)
def test_a_key_comes_back_as_the_same_key(key: Any) -> None:
    back = key_from_json(over_the_wire(key_to_json(key)))
    assert form_of(freeze(back)) == form_of(freeze(key))


@pytest.mark.parametrize(
    "key",
    [
        Row("a", 1),
        Row(name="a", count=1),
        Card("4711", dt.date(2030, 1, 1)),
        frozenset({1, "a"}),
        Point(1, 2),
        "half \ud800 a pair",
        dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        dt.time(12, 30),
        Level.HIGH,
        np.int64(5),
        math.nan,
    ],
)
def test_keys_of_classes_come_back(key: Any) -> None:
    back = key_from_json(over_the_wire(key_to_json(key)))
    assert form_of(freeze(back)) == form_of(freeze(key))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (NULL, None),
        ((1, [2, "x"]), [1, [2, "x"]]),
        (Card("4711", dt.date(2030, 1, 1)), {"number": "4711", "expires": {"$date": "2030-01-01"}}),
        (Row(a=1, b=None), {"a": 1, "b": None}),
        (Row(1, 2), {"$row": [1, 2]}),
        (Point(1, 2), {"x": 1, "y": 2}),
        ({"a": 1}, {"a": 1}),
        ({"$a": 1}, {"$map": [["$a", 1]]}),
        ({1: "x"}, {"$map": [[1, "x"]]}),
        (b"\x00\x01", {"$bytes": "AAE="}),
        (-math.inf, {"$float": "-Infinity"}),
        (Decimal("1.50"), {"$decimal": "1.50"}),
        (dt.timedelta(seconds=1), {"$timedelta": 1_000_000}),
        (uuid.UUID(int=1), {"$uuid": "00000000-0000-0000-0000-000000000001"}),
        (np.array([1.5, 2.0]), [1.5, 2.0]),
        (np.float32(0.5), 0.5),
        ({3}, [3]),
        (Level.HIGH, 3),
        (Colour.RED, {"$repr": "<Colour.RED: 1>"}),
    ],
)
def test_values_keep_their_types(value: Any, shown: Any) -> None:
    assert over_the_wire(to_json(value)) == shown


def test_a_client_gets_types_back() -> None:
    value = {
        "at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        "parts": [b"x", {1: Decimal("2.5")}],
        "n": math.inf,
    }
    assert value_from_json(over_the_wire(to_json(value))) == value


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({}, "an object is a key only if"),
        ({"a": 1}, "an object is a key only if"),
        ({"$bytes": "AA==", "$date": "x"}, "an object is a key only if"),
        ({"$bytes": "?"}, r"\$bytes cannot be read"),
        ({"$date": "tomorrow"}, r"\$date cannot be read"),
        ({"$uuid": 5}, r"\$uuid cannot be read"),
        ({"$decimal": "x"}, r"\$decimal cannot be read"),
        ({"$object": {"class": "A"}}, r"\$object cannot be read"),
        ([{"$repr": "x"}], "an object is a key only if"),
    ],
)
def test_what_is_not_a_key_is_refused(told: Any, said: str) -> None:
    with pytest.raises(NotTyped, match=said):
        key_from_json(told)
