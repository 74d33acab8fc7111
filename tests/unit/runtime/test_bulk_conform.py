"""Elements held to a declared type all at once are what they are when held to it one by one."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.common import Row, Types
from scurry.common.types import RowKind
from scurry.runtime import conform as module
from scurry.runtime.bulk_conform import conform_all
from scurry.runtime.conform import conform
from scurry.runtime.failures import ElementFailed

FIELDS = [
    Types.LONG(),
    Types.INT(),
    Types.SHORT(),
    Types.BYTE(),
    Types.DOUBLE(),
    Types.FLOAT(),
    Types.STRING(),
    Types.BOOLEAN(),
    Types.BIG_DEC(),
]
limits = [sign * (1 << bits) for sign in (1, -1) for bits in (7, 15, 31, 63)]
around = st.sampled_from([limit + by for limit in limits for by in (-1, 0, 1)])
values = st.one_of(
    st.none(),
    st.integers(-100, 100),
    around,
    st.booleans(),
    st.floats(allow_nan=False),
    st.text(max_size=2),
    st.sampled_from([np.int64(3), np.float64(0.5), Decimal("1.5")]),
)
types = st.sampled_from(FIELDS)


def one_by_one(rows: list[Any], declared: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "conform_all", lambda *_: None)
        return outcome(rows, declared)


def outcome(rows: list[Any], declared: Any) -> Any:
    try:
        found = conform(rows, declared)
    except ElementFailed as failure:
        return str(failure.__cause__)
    return [(repr(row), type(row), getattr(row, "_names", None), _classes(row)) for row in found]


def _classes(row: Any) -> list[type]:
    return list(map(type, row)) if isinstance(row, Row | tuple) else []


@given(st.lists(values, max_size=5), types)
def test_values(held: list[Any], declared: Any) -> None:
    assert outcome(held, declared) == one_by_one(held, declared)


@st.composite
def typed_rows(draw: st.DrawFn) -> tuple[list[Any], Any]:
    fields = draw(st.lists(types, max_size=3))
    names = [f"n{at}" for at in range(len(fields))]
    kinds = (Types.TUPLE(fields), Types.ROW(fields), Types.ROW_NAMED(names, fields))
    declared = draw(st.sampled_from(kinds))
    plain = {"LONG": st.integers(-5, 5), "DOUBLE": st.floats(0, 1), "STRING": st.text(max_size=2)}
    each = [st.one_of(plain.get(field.label, values), values) for field in fields]
    made = st.tuples(*each)
    forms = st.sampled_from(["tuple", "row", "named", "odd names", "deleted", "short"])
    form = draw(forms)
    rows = [_made(one, form, names) for one in draw(st.lists(made, max_size=4))]
    if draw(st.booleans()):
        rows += [_made(one, draw(forms), names) for one in draw(st.lists(made, max_size=2))]
    return rows, declared


def _made(held: tuple[Any, ...], form: str, names: list[str]) -> Any:
    if form == "tuple":
        return held
    if form == "short":
        return Row(*held[1:])
    row = Row(*held)
    if form == "named":
        row.set_field_names(names)
    if form == "odd names":
        row.set_field_names([f"o{at}" for at in range(len(held))])
    if form == "deleted":
        row.set_row_kind(RowKind.DELETE)
    return row


@given(typed_rows())
def test_rows_and_tuples(given_rows: tuple[list[Any], Any]) -> None:
    rows, declared = given_rows
    assert outcome(rows, declared) == one_by_one(rows, declared)


def test_plain_rows_are_not_looked_at_one_by_one() -> None:
    declared = Types.ROW_NAMED(["a", "b"], [Types.LONG(), Types.STRING()])
    rows = [Row(1, "x"), Row(None, None)]
    found = conform_all(rows, declared)
    assert found is not None
    assert [row.as_dict() for row in found] == [{"a": 1, "b": "x"}, {"a": None, "b": None}]
    assert rows[0]._names is None, "the function's own row is as it was"
    assert conform_all(found, declared) is found
    assert conform_all([Row(1 << 63, "x")], declared) is None
    assert conform_all([], declared) is None
