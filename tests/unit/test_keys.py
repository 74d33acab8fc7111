"""Equal keys hash equal, in every process; unequal keys spread; what cannot be a key is named."""

from __future__ import annotations

import datetime as dt
import enum
import subprocess
import sys
import uuid
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.common.errors import KeyTypeError
from scurry.common.keys import (
    FrozenKey,
    KeySlots,
    canonical,
    forms_of,
    freeze,
    hash_forms,
    key_group,
    slot_of_group,
    stable_hash,
    stable_hash_int64,
    thaw,
)


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


class Pair(NamedTuple):
    a: int
    b: str


@dataclass(frozen=True)
class User:
    name: str
    number: int


@dataclass
class Loose:
    name: str


EQUAL = [
    (1, True),
    (1, 1.0),
    (0, False),
    (1, np.int64(1)),
    (1, np.float32(1.0)),
    (1, Decimal(1)),
    (1, Fraction(2, 2)),
    (0.5, Decimal("0.5")),
    (0.5, Fraction(1, 2)),
    (2**70, float(2**70)),
    (1, Level.LOW),
    ("a", np.str_("a")),
    ((1, "a"), Pair(1, "a")),
    ((1, 2.0), (True, 2)),
    (b"x", np.bytes_(b"x")),
    (
        dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC),
        dt.datetime(2020, 1, 1, 13, tzinfo=dt.timezone(dt.timedelta(hours=1))),
    ),
    (dt.date(2020, 1, 1), np.datetime64("2020-01-01", "D").item()),
    (User("a", 1), User("a", True)),
    (frozenset({1, 2}), frozenset({2.0, 1.0})),
]


@pytest.mark.parametrize(("left", "right"), EQUAL, ids=repr)
def test_keys_that_compare_equal_hash_equal(left: object, right: object) -> None:
    assert left == right, "the example itself must hold in Python"
    assert canonical(left) == canonical(right)
    assert stable_hash(left) == stable_hash(right)


UNEQUAL = [
    1,
    2,
    "1",
    b"1",
    None,
    (1,),
    ("1",),
    1.5,
    dt.date(2020, 1, 1),
    Colour.RED,
    Colour.BLUE,
    User("a", 1),
    User("b", 1),
    (1, 2),
    ((1,), 2),
    (1, (2,)),
    "",
    b"",
    (),
    -1,
    dt.timedelta(seconds=1),
    dt.time(1),
    uuid.UUID(int=1),
    float("inf"),
    10**30,
    dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
]


def test_keys_that_differ_have_different_forms() -> None:
    forms = [canonical(key) for key in UNEQUAL]
    assert len(set(forms)) == len(forms)


scalars = st.one_of(
    st.integers(),
    st.floats(allow_nan=False),
    st.booleans(),
    st.text(),
    st.binary(),
    st.none(),
    st.decimals(allow_nan=False),
    st.dates(),
    st.datetimes(timezones=st.timezones()),
)
keys = st.recursive(scalars, lambda inner: st.tuples(inner, inner), max_leaves=4)


@given(keys, keys)
def test_equality_and_canonical_forms_agree(left: object, right: object) -> None:
    if left == right:
        assert canonical(left) == canonical(right)
    if canonical(left) == canonical(right):
        assert left == right


def test_what_is_not_equal_to_its_copy_is_a_key_by_value() -> None:
    for make in (lambda: float("nan"), lambda: (1, float("nan")), lambda: Decimal("nan")):
        assert make() != make(), "the example itself must hold in Python"
        assert freeze(make()) == freeze(make())
        assert repr(thaw(freeze(make()))) == repr(make())
        assert KeySlots(3, 128)[freeze(make())] == KeySlots(3, 128)[freeze(make())]
    for key in (1.5, (1, 2.5), "nan", Decimal(1), Pair(1, "a")):
        assert freeze(key) is key
    assert canonical(np.datetime64("NaT")) != canonical(None)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_a_column_of_integers_hashes_as_its_values(values: list[int]) -> None:
    column = stable_hash_int64(np.array(values, dtype=np.int64))
    assert column.tolist() == [stable_hash(value) for value in values]
    slots = KeySlots(7, 128)
    assert slots.of_ints(np.array(values, dtype=np.int64)).tolist() == [slots[v] for v in values]


def test_the_hash_is_the_same_in_another_process() -> None:
    code = (
        "from scurry.common.keys import stable_hash\n"
        "print([stable_hash(k) for k in (1, 'a', b'b', None, (1, 'x'), 1.5)])"
    )
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert other == str([stable_hash(k) for k in (1, "a", b"b", None, (1, "x"), 1.5)])


def test_slots_own_contiguous_ranges_of_key_groups_and_keys_spread() -> None:
    owners = [slot_of_group(group, 3, 128) for group in range(128)]
    assert owners == sorted(owners)
    assert set(owners) == {0, 1, 2}
    counts = Counter(key_group(f"user-{i}", 128) for i in range(12_800))
    assert len(counts) == 128
    assert max(counts.values()) < 200


def test_a_dataclass_without_hash_gets_identity_by_value() -> None:
    one, same, other = freeze(Loose("a")), freeze(Loose("a")), freeze(Loose("b"))
    assert isinstance(one, FrozenKey)
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert thaw(one) == Loose("a")
    assert freeze(5) == 5


@pytest.mark.parametrize("bad", [[1], {"a": 1}, {1}, object(), lambda: 1, 1j])
def test_what_cannot_be_a_key_is_named(bad: object) -> None:
    with pytest.raises(KeyTypeError, match=type(bad).__name__):
        canonical(bad)


def test_nan_is_one_key() -> None:
    assert canonical(float("nan")) == canonical(np.float64("nan"))


plain = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.binary(max_size=3)
fields = st.one_of(plain, st.floats(allow_nan=False), st.tuples(plain))


@given(st.integers(1, 3).flatmap(lambda n: st.lists(st.tuples(*[fields] * n), min_size=1)))
def test_tuples_are_formed_and_hashed_all_at_once(keys: list[tuple[object, ...]]) -> None:
    forms = forms_of(list(keys))
    assert forms == [canonical(key) for key in keys]
    assert hash_forms(forms).tolist() == [stable_hash(key) for key in keys]


@given(st.lists(st.datetimes(timezones=st.none() | st.just(dt.UTC)), min_size=1))
def test_times_in_tuples_are_formed_all_at_once(times: list[dt.datetime]) -> None:
    keys = [(number, time) for number, time in enumerate(times)]
    assert forms_of(list(keys)) == [canonical(key) for key in keys]
