from __future__ import annotations

from scurry.common import Row, RowKind, Types
from scurry.common.collected import collector_of

FLOAT = Types.FLOAT()
#: What 0.1 is once it has been a FLOAT.
WIDE = 0.10000000149011612


def test_floats_are_the_shortest_numbers_that_are_the_same_float() -> None:
    collected = collector_of(FLOAT)
    assert collected is not None
    assert [collected(value) for value in (WIDE, 1.5, None)] == [0.1, 1.5, None]
    assert str(collected(float("-inf"))) == "-inf"


def test_fields_of_tuples_and_rows_are_collected_too() -> None:
    of_tuple = collector_of(Types.TUPLE([Types.INT(), Types.TUPLE([FLOAT])]))
    assert of_tuple is not None
    assert of_tuple((1, (WIDE,))) == (1, (0.1,))
    of_row = collector_of(Types.ROW_NAMED(["a", "b"], [FLOAT, Types.STRING()]))
    assert of_row is not None
    given = Row.of_kind(RowKind.DELETE, a=WIDE, b="x")
    assert of_row(given) == Row.of_kind(RowKind.DELETE, a=0.1, b="x")
    assert given.a == WIDE
    assert (of_tuple(None), of_row(None)) == (None, None)


def test_items_of_lists_arrays_and_maps_are_collected_too() -> None:
    for kind in (Types.LIST(FLOAT), Types.PRIMITIVE_ARRAY(FLOAT), Types.BASIC_ARRAY(FLOAT)):
        of_items = collector_of(kind)
        assert of_items is not None
        assert (of_items([WIDE, None]), of_items(None)) == ([0.1, None], None)
    of_map = collector_of(Types.MAP(Types.STRING(), FLOAT))
    assert of_map is not None
    assert (of_map({"a": WIDE}), of_map(None)) == ({"a": 0.1}, None)
    assert collector_of(Types.MAP(Types.STRING(), Types.INT())) is None


def test_what_has_no_floats_is_taken_as_it_is() -> None:
    for kind in (None, Types.DOUBLE(), Types.ROW([Types.INT()]), Types.LIST(Types.INT())):
        assert collector_of(kind) is None
