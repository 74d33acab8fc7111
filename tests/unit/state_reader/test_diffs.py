"""Two tables of one state, and what tells them apart."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from scurry.state_reader.diffs import difference

NAN = float("nan")


def table(rows: dict[Any, Any]) -> pa.Table:
    return pa.table({"key": list(rows), "value": list(rows.values())})


def told(one: dict[Any, Any], other: dict[Any, Any]) -> set[tuple[Any, ...]]:
    found = difference(table(one), table(other)).to_pylist()
    return {tuple(map(repr, row.values())) for row in found}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({}, {}),
        ({"a": 1}, {}),
        ({}, {"a": 1}),
        ({"a": 1, "b": 2, "c": 3}, {"c": 3, "d": 4, "b": 5}),
        ({1: [1, 2], 2: []}, {2: [3], 1: [1, 2]}),
        ({1: NAN, 2: 1.0}, {1: NAN, 2: NAN}),
        ({1: 1, 2: 2}, {1: "1", 3: "2"}),
        ({"1": 1}, {2: 1}),
        ({1: None}, {1: 5, 2: None}),
    ],
)
def test_keys_that_came_went_or_have_something_else(
    one: dict[Any, Any], other: dict[Any, Any]
) -> None:
    # keys of two types are shown as texts
    same = not one or not other or {type(k) for k in one} == {type(k) for k in other}
    shown = (lambda key: key) if same else str
    expected: list[tuple[Any, ...]] = []
    for key in {**one, **other}:
        before, after = one.get(key), other.get(key)
        if key not in other:
            expected.append((shown(key), "removed", before, None))
        elif key not in one:
            expected.append((shown(key), "added", None, after))
        elif repr(before) != repr(after):
            expected.append((shown(key), "changed", before, after))
    assert told(one, other) == {tuple(map(repr, row)) for row in expected}
