"""Small things that a PyFlink program counts on; the expected values are what PyFlink 2.3 gave."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pytest

from scurry.common import Configuration, Row, RowKind, Types
from scurry.common.serialization import Encoder
from scurry.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from scurry.datastream.connectors.file_system import FileSink
from scurry.testing import collect_local, run_local

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


def test_rows_inside_rows_and_lists_take_names_too() -> None:
    inner = Types.ROW_NAMED(["x"], [Types.INT()])
    declared = Types.ROW_NAMED(["one", "many"], [inner, Types.LIST(inner)])
    made = stream([1]).map(lambda _: Row(Row(1), [Row(2)]), declared)
    assert collect_local(made) == [Row(one=Row(x=1), many=[Row(x=2)])]


def test_arrays_take_the_declared_type() -> None:
    found = collect_local(stream([bytearray(b"xy")], Types.PRIMITIVE_ARRAY(Types.BYTE())))
    assert (found, type(found[0])) == ([b"xy"], bytes)


def test_numbers_take_the_declared_type() -> None:
    doubles = collect_local(stream([1]).map(lambda x: x, Types.DOUBLE()))
    assert (doubles, type(doubles[0])) == ([1.0], float)
    assert collect_local(stream([0.1], Types.FLOAT())) == [0.10000000149011612]
    for declared in Types.TUPLE([Types.DOUBLE()]), Types.ROW([Types.DOUBLE()]):
        (found,) = collect_local(stream([1]).map(lambda x: (x,), declared))
        assert (found[0], type(found[0])) == (1.0, float)


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


def printed(made: DataStream, capsys: pytest.CaptureFixture[str]) -> list[str]:
    made.set_parallelism(1).print().set_parallelism(1)
    run_local(made._environment)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("element", "declared", "text"),
    [
        ("s", Types.STRING(), "s"),
        (True, Types.BOOLEAN(), "true"),
        (True, None, "True"),
        (1.0, Types.DOUBLE(), "1.0"),
        ((1, "a", 1.0), Types.TUPLE([Types.INT(), Types.STRING(), Types.DOUBLE()]), "(1,a,1.0)"),
        ((1, "a", None), None, "(1, 'a', None)"),
        ({"a": 1}, Types.MAP(Types.STRING(), Types.INT()), "{a=1}"),
        (Row(1, None), Types.ROW([Types.INT(), Types.STRING()]), "+I[1,None]"),
        (Row(1, [1, 2]), Types.ROW([Types.INT(), Types.LIST(Types.INT())]), "+I[1,[1, 2]]"),
        (Row(a=1, b="x"), None, "Row(a=1, b='x')"),
    ],
)
def test_print(element: Any, declared: Any, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(stream([element], declared), capsys) == [text]


def test_print_knows_the_type_behind_steps_that_keep_it(capsys: pytest.CaptureFixture[str]) -> None:
    kept = stream([(1, "a")], PAIRS).key_by(lambda pair: pair[0]).reduce(lambda a, _: a)
    assert printed(kept.filter(lambda _: True), capsys) == ["(1,a)"]


def test_print_of_an_annotated_function_is_pythons(capsys: pytest.CaptureFixture[str]) -> None:
    def pair(number: int) -> tuple[int, str]:
        return number, "a"

    assert printed(stream([1]).map(pair), capsys) == ["(1, 'a')"]


def test_lines_of_a_file_sink(tmp_path: Path) -> None:
    day = datetime(2020, 1, 2, 3, 4, 5)  # noqa: DTZ001
    nested = Types.TUPLE([Types.INT(), Types.ROW([Types.INT(), Types.STRING()])])
    row = Types.ROW([Types.INT(), Types.STRING(), Types.DOUBLE(), Types.BOOLEAN()])
    streams = [
        (["a"], Types.STRING(), ["a"]),
        ([Row(1, None, 1.5, True)], row, ["+I[1, null, 1.5, true]"]),
        ([(1, Row(2, "z"))], nested, ["(1,+I[2, z])"]),
        ([1.0, 1e20, 0.1], Types.DOUBLE(), ["1.0", "1.0E20", "0.1"]),
        ([0.1], Types.FLOAT(), ["0.1"]),
        ([day], Types.SQL_TIMESTAMP(), ["2020-01-02 03:04:05.0"]),
        ([day.replace(microsecond=120000)], Types.SQL_TIMESTAMP(), ["2020-01-02 03:04:05.12"]),
        ([date(2020, 1, 2)], Types.SQL_DATE(), ["2020-01-02"]),
        ([time(1, 2, 3)], Types.SQL_TIME(), ["01:02:03"]),
        ([{"a": 1}], Types.MAP(Types.STRING(), Types.INT()), ["{a=1}"]),
    ]
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    for number, (elements, declared, _) in enumerate(streams):
        sink = FileSink.for_row_format(
            str(tmp_path / str(number)), Encoder.simple_string_encoder()
        ).build()
        env.from_collection(elements, declared).sink_to(sink)
    run_local(env)
    for number, (_, _, lines) in enumerate(streams):
        (part,) = (path for path in (tmp_path / str(number)).rglob("part-*") if path.is_file())
        assert part.read_text().splitlines() == lines
