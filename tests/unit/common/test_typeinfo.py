"""Types check values, have Arrow forms that keep every value, and compare by content."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from scurry.common import Instant, Row, RowKind, TypeInformation, Types
from scurry.common.errors import TypeMismatchError
from scurry.common.typeinfo import LocalTimeTypeInfo, SqlTimeTypeInfo

NOW = datetime(2024, 5, 1, 12, tzinfo=UTC)
NAIVE = NOW.replace(tzinfo=None)


@dataclass
class Point:
    x: int
    label: str | None = None


@dataclass(frozen=True)
class Checked:
    x: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", self.x + 1)


@dataclass
class Derived:
    x: int
    twice: int = field(init=False, default=0)


@dataclass(kw_only=True)
class Keyword:
    x: int


class Pair(NamedTuple):
    left: int
    right: str


LONG, STRING = Types.LONG(), Types.STRING()
NAMED = Types.ROW_NAMED(["a", "b"], [LONG, STRING])

CONFORMING: list[tuple[TypeInformation, Any]] = [
    (STRING, "x"),
    (Types.BYTE(), -128),
    (Types.BOOLEAN(), True),
    (Types.SHORT(), 32767),
    (Types.INT(), 2**31 - 1),
    (LONG, -(2**63)),
    (Types.FLOAT(), 1.5),
    (Types.DOUBLE(), float("inf")),
    (Types.CHAR(), "c"),
    (Types.SQL_DATE(), NOW.date()),
    (Types.SQL_TIME(), time(12, 30, 0, 5)),
    (Types.SQL_TIMESTAMP(), NAIVE),
    (LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME), NAIVE),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"ab"),
    (Types.PRIMITIVE_ARRAY(Types.INT()), [1, 2]),
    (Types.BASIC_ARRAY(STRING), ["a", None]),
    (Types.OBJECT_ARRAY(NAMED), [Row(a=1, b="x"), None]),
    (Types.LIST(Types.TUPLE([LONG, STRING])), [(1, "a"), (2, None)]),
    (Types.MAP(STRING, Types.LIST(LONG)), {"a": [1], "b": None}),
    (Types.MAP(STRING, Types.MAP(LONG, NAMED)), {"a": {1: Row(a=1, b="x")}}),
    (Types.ROW([LONG, STRING]), Row(f0=1, f1="a")),
    (NAMED, Row(a=1, b=None)),
    (Types.TUPLE([LONG, NAMED]), (1, Row(a=1, b="x"))),
    (Types.DATACLASS(Point), Point(1, "p")),
    (Types.of(Pair), Pair(1, "r")),
]
PICKLED: list[tuple[TypeInformation, Any]] = [
    (Types.BIG_INT(), 2**100),
    (Types.BIG_DEC(), Decimal("1.10")),
    (Types.INSTANT(), Instant(1, 2)),
    (Types.PICKLED_BYTE_ARRAY(), {1, 2}),
    (Types.LIST(Types.BIG_INT()), [2**100]),
    (Types.MAP(STRING, Types.BIG_DEC()), {"a": Decimal(1)}),
    (Types.ROW([LONG, Types.PICKLED_BYTE_ARRAY()]), Row(1, {1})),
    (Types.DATACLASS(Checked), Checked(1)),
    (Types.DATACLASS(Derived), Derived(1)),
    (Types.DATACLASS(Keyword), Keyword(x=1)),
]


@pytest.mark.parametrize(("type_info", "value"), CONFORMING + PICKLED, ids=repr)
def test_conforming_values(type_info: TypeInformation, value: Any) -> None:
    assert type_info.check(value) is None
    assert type_info.check(None) is None


@pytest.mark.parametrize(("type_info", "value"), CONFORMING, ids=repr)
def test_arrow_keeps_every_value(type_info: TypeInformation, value: Any) -> None:
    column = pa.array(
        [type_info.to_internal_type(value), type_info.to_internal_type(None)],
        type=type_info.arrow_type(),
    )
    back = [type_info.from_internal_type(item) for item in column.to_pylist()]
    assert back == [value, None]
    assert type(back[0]) is type(value)
    if not type_info.need_conversion():
        assert column.to_pylist() == [value, None]


@pytest.mark.parametrize(("type_info", "value"), PICKLED, ids=repr)
def test_types_without_an_arrow_form(type_info: TypeInformation, value: Any) -> None:
    assert type_info.arrow_type() is None


@pytest.mark.parametrize("type_info", [t for t, _ in CONFORMING + PICKLED], ids=repr)
def test_types_are_values(type_info: TypeInformation) -> None:
    again = pickle.loads(pickle.dumps(type_info))
    assert again == type_info
    assert hash(again) == hash(type_info)
    assert type_info != "something else"


@pytest.mark.parametrize(
    ("type_info", "value", "fault"),
    [
        (LONG, "abc", "expected LONG, got 'abc' (str)"),
        (LONG, True, "expected LONG, got True (bool)"),
        (LONG, 1.0, "expected LONG, got 1.0 (float)"),
        (Types.BYTE(), 128, "expected BYTE, got 128 (int), which does not fit into 8 bits"),
        (Types.BOOLEAN(), 1, "expected BOOLEAN, got 1 (int)"),
        (Types.DOUBLE(), "1", "expected DOUBLE, got '1' (str)"),
        (Types.DOUBLE(), Fraction(1, 2), "expected DOUBLE, got Fraction(1, 2) (Fraction)"),
        (
            Types.FLOAT(),
            2**24 + 1,
            "expected FLOAT, got 16777217 (int), an integer too large to be kept exactly",
        ),
        (Types.FLOAT(), 1e300, "expected FLOAT, got 1e+300 (float), which is too large"),
        (Types.CHAR(), "ab", "expected CHAR, got 'ab' (str), which is not a single character"),
        (Types.CHAR(), 1, "expected CHAR, got 1 (int)"),
        (Types.SQL_DATE(), 5, "expected SQL_DATE, got 5 (int)"),
        (Types.SQL_TIME(), 5, "expected SQL_TIME, got 5 (int)"),
        (Types.SQL_TIMESTAMP(), NOW.date(), "expected SQL_TIMESTAMP, got "),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), [1], "expected PRIMITIVE_ARRAY, got [1] (list), "),
        (Types.LIST(LONG), "ab", "expected LIST, got 'ab' (str)"),
        (Types.LIST(LONG), [1, "x"], "item 1: expected LONG, got 'x' (str)"),
        (Types.MAP(STRING, LONG), [], "expected MAP, got [] (list)"),
        (Types.MAP(STRING, LONG), {1: 1}, "key 1: expected STRING, got 1 (int)"),
        (Types.MAP(STRING, LONG), {"a": "b"}, "value of key 'a': expected LONG, got 'b' (str)"),
        (Types.MAP(STRING, LONG), {None: 1}, "a key of MAP is None"),
        (Types.TUPLE([LONG]), (1, 2), "expected TUPLE, got (1, 2) (tuple) with 2 fields"),
        (Types.TUPLE([LONG]), 5, "expected TUPLE, got 5 (int)"),
        (NAMED, Row("x", "y"), "field 'a': expected LONG, got 'x' (str)"),
        (NAMED, Row(a=1, c="y"), "expected ROW_NAMED, got Row(a=1, c='y') (Row) without field 'b'"),
        (Types.ROW([LONG]), Row("x"), "field 'f0': expected LONG, got 'x' (str)"),
        (Types.DATACLASS(Point), (1, "a"), "expected Point, got (1, 'a') (tuple)"),
        (Types.DATACLASS(Point), Point("x"), "field 'x': expected LONG, got 'x' (str)"),  # type: ignore[arg-type]
        (Types.of(Pair), (1, "a"), "expected Pair, got (1, 'a') (tuple)"),
        (Types.of(Pair), Pair(1, 2), "field 'right': expected STRING, got 2 (int)"),  # type: ignore[arg-type]
    ],
)
def test_faults_in_words(type_info: TypeInformation, value: Any, fault: str) -> None:
    assert (type_info.check(value) or "").startswith(fault)


def test_times_with_a_zone_are_refused() -> None:
    local = LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME)
    for type_info, value in [(Types.SQL_TIMESTAMP(), NOW), (local, NOW.timetz())]:
        fault = type_info.check(value)
        assert fault is not None
        assert fault.endswith("which has a time zone")
    assert str(local.check(5)).startswith("expected LOCAL_TIME")
    assert "has a time of day" in str(Types.SQL_DATE().check(NOW))


def test_lenient_values() -> None:
    assert Types.DOUBLE().check(1) is None
    assert LONG.check(np.int64(1)) is None
    assert Types.FLOAT().check(np.float32(1)) is None
    assert NAMED.check((1, "a")) is NAMED.check([1, "a"]) is NAMED.check(Row(1, "a")) is None
    assert Types.TUPLE([LONG]).check(Row(1)) is None


def test_named_rows_are_read_by_name() -> None:
    swapped = Row(b="x", a=1)
    assert NAMED.check(swapped) is None
    assert list(NAMED.field_values(swapped)) == [1, "x"]
    assert NAMED.from_internal_type({"a": 1, "b": "x"}) == Row(a=1, b="x")
    assert NAMED.build([1, "x"]).get_row_kind() is RowKind.INSERT


def test_long_values_are_shortened() -> None:
    assert len(LONG.check("x" * 1000) or "") < 120


def test_fields() -> None:
    assert NAMED.field_names() == ("a", "b")
    assert NAMED.field_types() == (LONG, STRING)
    assert (NAMED.get_field_names(), NAMED.get_field_types()) == (["a", "b"], [LONG, STRING])
    assert NAMED.get_field_index("b") == 1
    with pytest.raises(ValueError, match=r"no field 'z' in Types\.ROW_NAMED"):
        NAMED.get_field_index("z")
    assert Types.ROW([LONG, LONG]).field_names() == Types.TUPLE([LONG, LONG]).field_names()
    assert Types.ROW([LONG]).field_names() == ("f0",)
    assert Types.DATACLASS(Point).field_types() == (LONG, STRING)


def test_element_classes() -> None:
    assert Types.TUPLE([LONG]).element_class is tuple
    assert NAMED.element_class is Row
    assert Types.DATACLASS(Point).element_class is Point
    assert Types.of(Pair).element_class is Pair
    assert LONG.element_class is None
    assert Types.LIST(LONG).element_class is None


@pytest.mark.parametrize(
    ("type_info", "text"),
    [
        (LONG, "Types.LONG()"),
        (NAMED, "Types.ROW_NAMED(['a', 'b'], [Types.LONG(), Types.STRING()])"),
        (Types.ROW([LONG]), "Types.ROW([Types.LONG()])"),
        (Types.TUPLE([LONG]), "Types.TUPLE([Types.LONG()])"),
        (Types.MAP(LONG, Types.LIST(LONG)), "Types.MAP(Types.LONG(), Types.LIST(Types.LONG()))"),
        (Types.SQL_DATE(), "Types.SQL_DATE()"),
        (Types.PICKLED_BYTE_ARRAY(), "Types.PICKLED_BYTE_ARRAY()"),
        (Types.DATACLASS(Point), "Types.DATACLASS(Point)"),
        (Types.of(Pair), "Types.of(Pair)"),
    ],
)
def test_repr(type_info: TypeInformation, text: str) -> None:
    assert repr(type_info) == text


@pytest.mark.parametrize(
    ("type_info", "text"),
    [
        (Types.INT(), "Integer"),
        (Types.BIG_DEC(), "BigDecimal"),
        (Types.INSTANT(), "Instant"),
        (Types.SQL_TIMESTAMP(), "TimestampTypeInfo"),
        (Types.PICKLED_BYTE_ARRAY(), "PickledByteArrayTypeInfo"),
        (NAMED, "RowTypeInfo(a: Long, b: String)"),
        (Types.ROW([LONG]), "RowTypeInfo(Long)"),
        (Types.TUPLE([LONG, Types.LIST(STRING)]), "TupleTypeInfo(Long, ListTypeInfo<String>)"),
        (Types.MAP(STRING, LONG), "MapTypeInfo<String, Long>"),
        (Types.PRIMITIVE_ARRAY(LONG), "PrimitiveArrayTypeInfo<Long>"),
        (Types.OBJECT_ARRAY(Types.ROW([LONG])), "ObjectArrayTypeInfo<RowTypeInfo(Long)>"),
    ],
)
def test_types_print_as_in_pyflink(type_info: TypeInformation, text: str) -> None:
    assert str(type_info) == text


def test_different_types_differ() -> None:
    assert Types.INT() != LONG
    assert Types.LIST(LONG) != Types.BASIC_ARRAY(LONG)
    assert Types.ROW([LONG]) != Types.ROW_NAMED(["f0"], [LONG])
    assert SqlTimeTypeInfo.TIME() == Types.SQL_TIME()


def test_bad_field_lists_are_refused() -> None:
    with pytest.raises(TypeMismatchError, match=r"got the names \['a'\] for 2 types"):
        Types.ROW_NAMED(["a"], [LONG, LONG])
    with pytest.raises(TypeMismatchError, match="one distinct name"):
        Types.ROW_NAMED(["a", "a"], [LONG, LONG])
    with pytest.raises(TypeMismatchError, match=r"such as Types.LONG\(\), got <class 'int'>"):
        Types.TUPLE([int])  # type: ignore[list-item]
    with pytest.raises(TypeMismatchError, match=r"needs a dataclass, got .*decorate the class"):
        Types.DATACLASS(date)
