"""Small things that a PyFlink program counts on; the expected values are what PyFlink 2.3 gave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scurry.common import Configuration, Row, RowKind, Types
from scurry.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from scurry.testing import collect_local

NAMED = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
PAIRS = Types.TUPLE([Types.INT(), Types.STRING()])


def stream(elements: list[Any], declared: Any = None) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.from_collection(elements, declared)


@pytest.mark.parametrize("element", [(3, "z"), Row(3, "z"), Row(a=3, b="z"), Row(b="z", a=3)])
def test_rows_take_the_names_of_the_declared_type(element: Any) -> None:
    assert collect_local(stream([element], NAMED)) == [Row(a=3, b="z")]
    mapped = stream([1]).map(lambda _: element, NAMED).key_by(lambda row: row.a)
    assert collect_local(mapped.map(lambda row: (row.b, row))) == [("z", Row(a=3, b="z"))]


def test_rows_of_a_type_without_names_are_read_by_f0_and_f1() -> None:
    declared = Types.ROW([Types.INT(), Types.STRING()])
    assert collect_local(stream([Row(1, "a"), (2, "b")], declared)) == [
        Row(f0=1, f1="a"),
        Row(f0=2, f1="b"),
    ]


def test_a_row_that_takes_names_keeps_its_kind() -> None:
    deleted = stream([1]).map(lambda _: Row.of_kind(RowKind.DELETE, 1, "x"), NAMED)
    assert collect_local(deleted) == [Row.of_kind(RowKind.DELETE, a=1, b="x")]


def test_project_keeps_the_types() -> None:
    projected = stream([(1, "a")], PAIRS).project(1)
    assert projected.get_type() == Types.TUPLE([Types.STRING()])
    assert collect_local(projected) == [("a",)]
    with pytest.raises(ValueError, match=r"positions \(0, 7\), but the tuples have 2 fields"):
        stream([(1, "a")], PAIRS).project(0, 7)


def test_a_side_output_without_a_type_is_pickled_and_a_list_of_types_is_a_row() -> None:
    assert OutputTag("side").type_info == Types.PICKLED_BYTE_ARRAY()
    assert OutputTag("side", [Types.INT()]).type_info == Types.ROW([Types.INT()])
    with pytest.raises(TypeError, match="needs a type such as"):
        OutputTag("side", "int")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="non-empty string"):
        OutputTag("")


@pytest.mark.parametrize(
    "mistake",
    [
        lambda s: s.map(5),
        lambda s: s.flat_map(5),
        lambda s: s.filter(None),
        lambda s: s.connect(s).map(lambda x: x),
        lambda s: s.broadcast(5),
        lambda s: s.partition_custom(5, lambda x: x),
        lambda s: s.key_by(lambda x: x).reduce(5),
        lambda s: s.key_by(lambda x: x).sum(1.5),
        lambda s: s.key_by(lambda x: x).count_window(2).aggregate(5),
    ],
)
def test_wrong_arguments_are_type_errors(mistake: Callable[[DataStream], Any]) -> None:
    with pytest.raises(TypeError):
        mistake(stream([1]))


def test_default_names() -> None:
    assert stream([1]).flat_map(lambda x: [x]).get_name() == "FlatMap"
    assert stream([1]).key_by(lambda x: x).flat_map(lambda x: [x]).get_name() == "FlatMap"


def test_a_configuration_prints_its_options() -> None:
    assert str(Configuration().set_string("a", "b").set_boolean("c", True)) == "{a=b, c=true}"
