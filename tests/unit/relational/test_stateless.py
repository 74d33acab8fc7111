"""Operators on relations that keep nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from scurry.common.changelog import ChangelogMode
from scurry.common.data_types import DataTypes
from scurry.common.errors import FunctionError
from scurry.compile.explain import explain
from scurry.compile.job import Settings, compile_job
from scurry.functions.aggregate_calls import TableCall, Unnest
from scurry.functions.builtin import resolve
from scurry.functions.expressions import InputRef, Literal, SessionExpression, UdfCall
from scurry.functions.transforms import Function
from scurry.functions.udfs import ScalarFunction, udf
from scurry.plan.graph import Graph
from scurry.plan.nodes import Sink, Union
from scurry.plan.relational import (
    Calc,
    Correlate,
    DropUpdateBefore,
    Expand,
    WatermarkAssigner,
    WindowTable,
)
from scurry.testing import ListSink
from scurry.testing.relations import changes_of, relation

PAIRS = pa.schema([("k", pa.string()), ("n", pa.int64())])
CHANGES = [("+I", "a", 1), ("-U", "a", 1), ("+U", "a", 5), ("+I", "b", None), ("-D", "a", 5)]


def column(index: int) -> Any:
    return lambda columns, context: columns.column(index)


def above(index: int, bound: int) -> Any:
    return lambda columns, context: pc.greater(columns.column(index), bound)


def test_a_calc_filters_and_projects_and_keeps_kinds() -> None:
    calc = Calc(
        name="calc",
        inputs=(relation(PAIRS, CHANGES),),
        columns=pa.schema([("twice", pa.int64())]),
        mode=ChangelogMode.RETRACT,
        condition=above(1, 2),
        projections=(lambda columns, context: pc.multiply(columns.column(1), 2),),
    )
    assert changes_of(calc, cuts=2) == [("+U", 10), ("-D", 10)]


def test_a_calc_that_only_filters_keeps_all_columns() -> None:
    calc = Calc(
        name="calc",
        inputs=(relation(PAIRS, CHANGES[:1]),),
        columns=PAIRS,
        condition=above(1, 0),
    )
    assert changes_of(calc) == [("+I", "a", 1)]


def test_a_calc_evaluates_typed_trees_in_the_zone_of_the_session() -> None:
    stamps = pa.schema([("at", pa.timestamp("ms", "UTC"))])
    hour = resolve("HOUR", (InputRef(0, DataTypes.TIMESTAMP_LTZ(3)),))
    calc = Calc(
        name="calc",
        inputs=(relation(stamps, [("+I", 0), ("+I", None)]),),
        columns=pa.schema([("hour", pa.int64())]),
        projections=(SessionExpression(hour, "Asia/Tokyo"),),
    )
    assert changes_of(calc) == [("+I", 9), ("+I", None)]


class Lifetime(ScalarFunction):
    events: ClassVar[list[str]] = []

    def open(self, function_context: Any) -> None:
        self.events.append(f"open {function_context.get_task_name()}")

    def close(self) -> None:
        self.events.append("close")

    def eval(self, number: int) -> int:
        return number + 1


def test_functions_in_expressions_are_opened_and_closed() -> None:
    function = udf(Lifetime(), result_type="BIGINT")
    tree = UdfCall(function, (InputRef(1, DataTypes.BIGINT()),), DataTypes.BIGINT())
    calc = Calc(
        name="calc",
        inputs=(relation(PAIRS, CHANGES[:1]),),
        columns=pa.schema([("next", pa.int64())]),
        projections=(tree,),
    )
    assert changes_of(calc) == [("+I", 2)]
    assert Lifetime.events[0] == "open calc"
    assert Lifetime.events[-1] == "close"


def test_an_expression_that_fails_shows_its_place() -> None:
    divided = resolve("/", (InputRef(1, DataTypes.BIGINT()), Literal(0, DataTypes.BIGINT(False))))
    calc = Calc(
        name="calc of t",
        inputs=(relation(PAIRS, CHANGES[:1]),),
        columns=pa.schema([("x", pa.int64())]),
        projections=(divided,),
    )
    with pytest.raises(FunctionError, match=r"(?s)division by zero, in \(\$1 / 0\).*calc of t"):
        changes_of(calc)


def test_an_expression_that_fails_names_the_operator() -> None:
    def fails(columns: Any, context: Any) -> Any:
        raise ValueError("no such thing")

    node = Calc(
        name="calc of t",
        inputs=(relation(PAIRS, CHANGES[:1]),),
        columns=PAIRS,
        condition=fails,
    )
    with pytest.raises(FunctionError, match=r"(?s)no such thing.*calc of t"):
        changes_of(node)


def strict(word: str, number: int) -> int:
    return int(word) + number


def nothing_left(number: int) -> int:
    return next(iter(range(number, 2)))


@pytest.mark.parametrize(
    ("function", "places", "told"),
    [
        (strict, (0, 1), r"(?s)ValueError: invalid literal.*'b', in strict\(\$0, \$1\)"),
        (nothing_left, (1,), r"(?s)RuntimeError: the function raised StopIteration"),
    ],
)
def test_a_function_that_raises_shows_its_lines_and_arguments(
    function: Any, places: tuple[int, ...], told: str
) -> None:
    kinds = (DataTypes.STRING(), DataTypes.BIGINT())
    tree = UdfCall(
        udf(function, result_type="BIGINT"),
        tuple(InputRef(at, kinds[at]) for at in places),
        DataTypes.BIGINT(),
    )
    calc = Calc(
        name="calc of t",
        inputs=(relation(PAIRS, [("+I", "1", 1), ("+I", "b", 2)]),),
        columns=pa.schema([("next", pa.int64())]),
        projections=(tree,),
    )
    with pytest.raises(FunctionError, match=told) as caught:
        changes_of(calc)
    assert caught.value.element == repr(tuple(("b", 2)[at] for at in places))
    if function is strict:
        assert "in strict\n    return int(word) + number" in str(caught.value)


def test_old_rows_of_updates_are_dropped() -> None:
    node = DropUpdateBefore(
        name="drop",
        inputs=(relation(PAIRS, CHANGES),),
        columns=PAIRS,
        mode=ChangelogMode.UPSERT,
    )
    assert [kind for kind, *_ in changes_of(node)] == ["+I", "+U", "+I", "-D"]


def test_grouping_sets_expand_each_row() -> None:
    node = Expand(
        name="expand",
        inputs=(relation(PAIRS, [("+I", "a", 1), ("-D", "a", 1)]),),
        columns=pa.schema([*PAIRS, ("$e", pa.int64())]),
        mode=ChangelogMode.RETRACT,
        grouped=(0, 1),
        sets=((0, 1), (0,), ()),
        ids=(0, 1, 3),
    )
    rows = [("a", 1, 0), ("a", None, 1), (None, None, 3)]
    assert changes_of(node) == [*(("+I", *row) for row in rows), *(("-D", *row) for row in rows)]


LISTS = pa.schema([("k", pa.string()), ("xs", pa.list_(pa.int64()))])


@pytest.mark.parametrize("left", [False, True])
def test_unnest_gives_a_row_for_each_element(left: bool) -> None:
    changes = [("+I", "a", [1, None]), ("+I", "b", []), ("+I", "c", None), ("-D", "a", [1, None])]
    node = Correlate(
        name="unnest",
        inputs=(relation(LISTS, changes),),
        columns=pa.schema([*LISTS, ("x", pa.int64()), ("at", pa.int32())]),
        mode=ChangelogMode.RETRACT,
        table=Unnest(column(1), ordinality=True),
        left=left,
    )
    padding = [("+I", "b", [], None, None), ("+I", "c", None, None, None)] if left else []
    assert changes_of(node, cuts=3) == [
        ("+I", "a", [1, None], 1, 1),
        ("+I", "a", [1, None], None, 2),
        *padding,
        ("-D", "a", [1, None], 1, 1),
        ("-D", "a", [1, None], None, 2),
    ]


def unnest(kind: pa.DataType, value: Any, out: pa.Schema, **options: Any) -> list[Any]:
    schema = pa.schema([("v", kind)])
    node = Correlate(
        name="unnest",
        inputs=(relation(schema, [("+I", value)]),),
        columns=pa.schema([*schema, *out]),
        table=Unnest(column(0), **options),
    )
    return [change[2:] for change in changes_of(node)]


def test_unnest_of_rows_maps_and_multisets() -> None:
    rows = pa.list_(pa.struct([("a", pa.int64()), ("b", pa.string())]))
    fields = pa.schema([("a", pa.int64()), ("b", pa.string())])
    assert unnest(rows, [{"a": 1, "b": "x"}, {"a": 2, "b": None}], fields) == [(1, "x"), (2, None)]
    pairs = pa.schema([("key", pa.string()), ("value", pa.int32())])
    assert unnest(pa.map_(pa.string(), pa.int32()), [("x", 1), ("y", 2)], pairs) == [
        ("x", 1),
        ("y", 2),
    ]
    words = pa.schema([("word", pa.string())])
    counted = pa.map_(pa.string(), pa.int32())
    assert unnest(counted, [("x", 1), ("y", 2)], words, multiset=True) == [("x",), ("y",), ("y",)]


class Split(Function):
    def eval(self, text: str, separator: str) -> Any:
        if text == "fail":
            raise ValueError("cannot split this")
        for word in text.split(separator):
            yield word, len(word)


def split(texts: list[str], condition: Any = None, left: bool = False) -> list[Any]:
    schema = pa.schema([("text", pa.string())])
    node = Correlate(
        name="split",
        inputs=(relation(schema, [("+I", text) for text in texts]),),
        columns=pa.schema([*schema, ("word", pa.string()), ("length", pa.int32())]),
        table=TableCall(
            Split(),
            (
                column(0),
                lambda columns, context: pa.array([" "]).take(pa.array([0] * columns.num_rows)),
            ),
        ),
        left=left,
        condition=condition,
    )
    return [change[1:] for change in changes_of(node)]


def test_a_table_function_is_joined_to_each_row() -> None:
    assert split(["a bb", "c"]) == [("a bb", "a", 1), ("a bb", "bb", 2), ("c", "c", 1)]


def test_a_left_join_with_a_table_function_keeps_rows_without_a_match() -> None:
    assert split(["a bb", "c"], above(2, 1), left=True) == [("a bb", "bb", 2), ("c", None, None)]


def test_a_table_function_that_fails_is_told_with_its_arguments() -> None:
    with pytest.raises(FunctionError, match=r"(?s)cannot split this.*split.*\('fail', ' '\)"):
        split(["fail"])


TIMED = pa.schema([("n", pa.int64()), ("at", pa.timestamp("ms", "UTC"))])


def timed(*numbers: int) -> list[Any]:
    return [("+I", n, datetime(1970, 1, 1, 0, 0, 0, n * 1000, tzinfo=UTC)) for n in numbers]


def test_the_watermark_is_the_expression_exactly() -> None:
    node = WatermarkAssigner(
        name="watermark",
        inputs=(relation(TIMED, timed(5, 3, 9)),),
        columns=TIMED,
        rowtime=1,
        watermark=column(1),
    )
    seen = []

    def spy(columns: Any, context: Any) -> Any:
        seen.append(columns.num_rows)
        return columns.column(0)

    calc = Calc(
        name="c", inputs=(node,), columns=pa.schema([("n", pa.int64())]), projections=(spy,)
    )
    assert [change[1] for change in changes_of(calc, cuts=1)] == [5, 3, 9]


def test_a_rowtime_that_is_null_is_refused() -> None:
    node = WatermarkAssigner(
        name="watermark of t",
        inputs=(relation(TIMED, [("+I", 1, None)]),),
        columns=TIMED,
        rowtime=1,
        watermark=column(1),
    )
    with pytest.raises(FunctionError, match=r"(?s)rowtime column 'at' is null.*watermark of t"):
        changes_of(node)


@pytest.mark.parametrize(
    ("kind", "size", "step", "offset", "expected"),
    [
        ("tumble", 10, 0, 0, [(10, 20)]),
        ("tumble", 10, 0, 3, [(3, 13)]),
        ("hop", 10, 5, 0, [(5, 15), (10, 20)]),
        ("hop", 10, 4, 0, [(4, 14), (8, 18), (12, 22)]),
        ("hop", 2, 5, 0, []),
        ("cumulate", 20, 5, 0, [(0, 15), (0, 20)]),
    ],
)
def test_window_table_functions(
    kind: str, size: int, step: int, offset: int, expected: list[tuple[int, int]]
) -> None:
    times = [
        (name, pa.timestamp("ms", "UTC")) for name in ("window_start", "window_end", "window_time")
    ]
    node = WindowTable(
        name="windows",
        inputs=(relation(TIMED, [*timed(12), ("+I", 0, None)]),),
        columns=pa.schema([*TIMED, *times]),
        kind=kind,
        time=1,
        size=size,
        step=step,
        offset=offset,
    )
    found = [change[3:] for change in changes_of(node)]
    zero = datetime(1970, 1, 1, tzinfo=UTC)
    milli = [tuple(round((t - zero).total_seconds() * 1000) for t in times) for times in found]
    assert milli == [(start, end, end - 1) for start, end in expected]


def test_relations_are_united_and_explained_as_columns() -> None:
    both = Union(
        name="union",
        inputs=(relation(PAIRS, CHANGES[:1], "one"), relation(PAIRS, CHANGES[3:4], "two")),
    )
    calc = Calc(name="calc", inputs=(both,), columns=PAIRS, condition=None)
    assert sorted(changes_of(calc), key=repr) == [("+I", "a", 1), ("+I", "b", None)]
    graph = Graph.of("test", [Sink(name="sink", inputs=(calc,), sink=ListSink())])
    assert "calc  (uid calc-" in explain(compile_job(graph, Settings(1)))
    assert "; on columns; " in explain(compile_job(graph, Settings(1)))
