"""Rows are read by position, name and attribute, and know their place in a changelog."""

from __future__ import annotations

import copy
import pickle

import pytest

from scurry.common import Row, RowKind


def test_positional_row() -> None:
    row = Row(1, "a")
    assert (row[0], row[-1], row[0:1], list(row), len(row)) == (1, "a", [1], [1, "a"], 2)
    assert "a" in row
    assert repr(row) == "<Row(1, 'a')>"


def test_named_row_keeps_the_order_written() -> None:
    row = Row(name="x", age=3)
    assert (row.name, row["age"], row[0], list(row)) == ("x", 3, "x", ["x", 3])
    assert "name" in row
    assert "x" not in row
    assert repr(row) == str(row) == "Row(name='x', age=3)"


def test_template_makes_named_rows() -> None:
    person = Row("name", "age")
    assert person("Ann", 41) == Row(name="Ann", age=41)
    assert person("Ann") == Row(name="Ann")
    with pytest.raises(ValueError, match=r"has 2 fields but got 3 values \(1, 2, 3\)"):
        person(1, 2, 3)


def test_fields_are_set_by_position_name_and_attribute() -> None:
    row = Row(a=1, b=2, c=3)
    row[0] = 10
    row["b"] = 20
    row.c = 30
    assert row == Row(a=10, b=20, c=30)
    with pytest.raises(ValueError, match="number of fields"):
        row[0:2] = [1]


def test_values_and_names_cannot_be_mixed() -> None:
    with pytest.raises(ValueError, match=r"both positional values \(1,\) and named values"):
        Row(1, a=2)


def test_unknown_fields_are_named_in_the_error() -> None:
    row = Row(a=1)
    with pytest.raises(ValueError, match=r"no field 'z' in Row\(a=1\): it has \['a'\]"):
        row["z"]
    with pytest.raises(AttributeError, match="no field 'z'"):
        _ = row.z
    with pytest.raises(AttributeError, match="no field 'z'"):
        row.z = 1
    with pytest.raises(AttributeError, match="no field 'a' in <Row"):
        _ = Row(1).a


def test_equality_looks_at_values_names_and_kind() -> None:
    assert Row(1, 2) == Row(1, 2)
    assert Row(1, 2) != (1, 2)
    assert Row(a=1) != Row(1)
    assert Row(a=1) != Row(b=1)
    assert Row.of_kind(RowKind.DELETE, 1) != Row(1)
    assert Row(a=1, b=2) == Row(b=2, a=1) != Row(b=1, a=2)
    assert Row(a=1, b=2) != Row(a=1)
    assert hash(Row(a=1, b=2)) == hash(Row(b=2, a=1))
    assert hash(Row(1, 2)) == hash(Row(1, 2))
    assert Row(a=1, b=2)._fields == ["a", "b"]
    with pytest.raises(AttributeError, match="no field '_fields'"):
        _ = Row(1)._fields
    assert len({Row(1), Row(1), Row(2)}) == 2


def test_as_dict() -> None:
    inner = Row(b=1)
    row = Row(a=inner, m={"k": [inner]}, p=Row(7))
    assert row.as_dict() == {"a": inner, "m": {"k": [inner]}, "p": Row(7)}
    assert row.as_dict(recursive=True) == {"a": {"b": 1}, "m": {"k": [{"b": 1}]}, "p": Row(7)}
    with pytest.raises(TypeError, match="has no field names, so it has no dict form"):
        Row(1).as_dict()


def test_set_field_names_and_get_fields_by_names() -> None:
    row = Row(1, "a")
    row.set_field_names(["id", "name"])
    assert row.get_fields_by_names(["name", "id"]) == ["a", 1]
    with pytest.raises(ValueError, match=r"2 values but got 1 names \['x'\]"):
        row.set_field_names(["x"])


def test_kinds() -> None:
    row = Row.of_kind(RowKind.UPDATE_BEFORE, 1, None, Row("x"))
    assert row.get_row_kind() is RowKind.UPDATE_BEFORE
    assert row.to_string() == "-U[1, null, +I[x]]"
    row.set_row_kind(RowKind.UPDATE_AFTER)
    assert row.to_string().startswith("+U")
    assert [str(kind) for kind in RowKind] == ["+I", "-U", "+U", "-D"]
    assert Row.of_kind(RowKind.DELETE, a=1).a == 1


@pytest.mark.parametrize("row", [Row(), Row(1, "a"), Row.of_kind(RowKind.DELETE, a=1, b=[2])])
def test_rows_survive_pickling_and_copying(row: Row) -> None:
    assert pickle.loads(pickle.dumps(row)) == row
    assert copy.copy(row) == row
    assert copy.deepcopy(row) == row


def test_rows_from_columns() -> None:
    assert Row.from_columns(("a", "b"), [[1, 2], ["x", "y"]]) == [Row(a=1, b="x"), Row(a=2, b="y")]
    assert Row.from_columns(None, [(1, 2)]) == [Row(1), Row(2)]
    assert Row.from_columns(("a",), [[]]) == []
    with pytest.raises(ValueError, match="shorter"):
        Row.from_columns(None, [[1, 2], [1]])


def test_a_row_has_no_room_for_other_attributes() -> None:
    with pytest.raises(AttributeError):
        Row(1)._private = 3
    assert not hasattr(Row(1), "__dict__")
