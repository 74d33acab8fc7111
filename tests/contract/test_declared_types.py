"""States of a declared type: wrong values are refused at the call, others are the same for ever."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.contract._slots import ClockedSlot

from scurry.common import Row, Time, Types
from scurry.common.errors import FunctionError, StateError
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.state import (
    AggregatingStateDescriptor,
    BagStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    SetStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from scurry.functions.transforms import AggregateFunction
from scurry.testing.local import collect_local


@dataclasses.dataclass
class Account:
    owner: str
    cents: int
    rate: float
    note: str | None = None


class Point(NamedTuple):
    x: int
    y: float


class Colour(str, enum.Enum):  # noqa: UP042  (its str() is not its value)
    RED = "red"


ROW = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.DOUBLE()])
PAIR = Types.TUPLE([Types.INT(), Types.DOUBLE()])

#: a declared type, a value that is not of it, and what the error says of it
WRONG: list[tuple[Any, Any, str]] = [
    (Types.INT(), "5", r"expected INT, got '5' \(str\)"),
    (Types.INT(), 1 << 31, "does not fit into 32 bits"),
    (Types.INT(), True, "expected INT, got True"),
    (Types.INT(), 1.0, "expected INT, got 1.0"),
    (Types.BYTE(), -129, "does not fit into 8 bits"),
    (Types.LONG(), 1 << 63, "does not fit into 64 bits"),
    (Types.DOUBLE(), "x", "expected DOUBLE"),
    (Types.DOUBLE(), (1 << 53) + 1, "too large to be kept exactly"),
    (Types.BOOLEAN(), 1, "expected BOOLEAN"),
    (Types.STRING(), b"x", "expected STRING"),
    (Types.CHAR(), "xy", "not a single character"),
    (Types.SQL_DATE(), dt.datetime(2020, 1, 1), "which has a time of day"),  # noqa: DTZ001
    (Types.SQL_TIMESTAMP(), dt.datetime(2020, 1, 1, tzinfo=dt.UTC), "which has a time zone"),
    (Types.BIG_DEC(), 1.5, "expected BIG_DEC"),
    (Types.LIST(Types.INT()), [1, "x"], "item 1: expected INT"),
    (Types.LIST(Types.STRING()), ["\udc80"], "surrogates not allowed"),
    (Types.MAP(Types.STRING(), Types.INT()), {"a": "b"}, "value of key 'a': expected INT"),
    (PAIR, (1, 2, 3), "with 3 fields"),
    (ROW, Row(a=1), "with 1 fields"),
    (ROW, Row(a=1, c=2.0), "without field 'b'"),
    (ROW, Row(a="x", b=2.0), "field 'a': expected INT"),
    (Account, {"owner": "x"}, "expected Account"),
    (Account, Account("x", None, 1.0), "Expected `int`, got"),  # type: ignore[arg-type]
    (Account, Account("x", 1, "y"), "field 'rate': expected DOUBLE"),  # type: ignore[arg-type]
    (Point, (1, 2.0), "expected Point"),
]

#: how a value gets into a state of each kind
KINDS: dict[str, tuple[str, Callable[[Any], Any], Callable[[Any, Any], Any]]] = {
    "value": ("get_state", lambda t: ValueStateDescriptor("s", t), lambda s, v: s.update(v)),
    "list": ("get_list_state", lambda t: ListStateDescriptor("s", t), lambda s, v: s.add(v)),
    "lists": (
        "get_list_state",
        lambda t: ListStateDescriptor("s", t),
        lambda s, v: s.add_all([None, v]),
    ),
    "replaced": (
        "get_list_state",
        lambda t: ListStateDescriptor("s", t),
        lambda s, v: s.update([v]),
    ),
    "bag": ("get_bag_state", lambda t: BagStateDescriptor("s", t), lambda s, v: s.add(v)),
    "map": (
        "get_map_state",
        lambda t: MapStateDescriptor("s", Types.STRING(), t),
        lambda s, v: s.put("k", v),
    ),
    "maps": (
        "get_map_state",
        lambda t: MapStateDescriptor("s", Types.STRING(), t),
        lambda s, v: s.put_all({"k": v}),
    ),
    "reducing": (
        "get_reducing_state",
        lambda t: ReducingStateDescriptor("s", max, t),
        lambda s, v: s.add(v),
    ),
}


def expiring(descriptor: Any) -> Any:
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
    return descriptor


@pytest.fixture
def slot(tmp_path: Path) -> ClockedSlot:
    return ClockedSlot(tmp_path / "slot", "memory")


@pytest.mark.parametrize("ttl", [False, True], ids=["kept", "expiring"])
@pytest.mark.parametrize("kind", KINDS)
def test_wrong_values_are_refused_where_they_are_written(
    slot: ClockedSlot, kind: str, ttl: bool
) -> None:
    getter, describe, write = KINDS[kind]
    for number, (declared, wrong, message) in enumerate(WRONG):
        descriptor = describe(declared)
        descriptor.name = f"s{number}"
        state = slot.open(getter, expiring(descriptor) if ttl else descriptor, "ann")
        with pytest.raises(StateError, match=message) as caught:
            write(state, wrong)
        assert f"In operator 'op', state 's{number}': key 'ann' was given" in str(caught.value)
    slot.commit()
    assert slot.records() == 0, "nothing of it is stored"


#: a declared type, a value that it takes, and what becomes of the value
CONVERTED: list[tuple[Any, Any, Any]] = [
    (Types.INT(), np.int64(5), 5),
    (Types.DOUBLE(), 3, 3.0),
    (Types.DOUBLE(), np.float32(0.5), 0.5),
    (Types.STRING(), Colour.RED, "red"),
    (Types.STRING(), "\udc80", "\udc80"),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), bytearray(b"x"), b"x"),
    (Types.LIST(Types.DOUBLE()), (1, 2.5), [1.0, 2.5]),
    (PAIR, [1, 2], (1, 2.0)),
    (PAIR, (1, None), (1, None)),
    (ROW, (1, 2), Row(a=1, b=2.0)),
    (ROW, Row(1, 2.0), Row(a=1, b=2.0)),
    (ROW, Row(b=2, a=1), Row(a=1, b=2.0)),
    (Account, Account("x", 1, 2), Account("x", 1, 2.0)),
    (Types.BIG_INT(), 1 << 80, 1 << 80),
    (Types.BIG_DEC(), Decimal("1.10"), Decimal("1.10")),
]


@pytest.mark.parametrize("ttl", [False, True], ids=["kept", "expiring"])
@pytest.mark.parametrize(("declared", "given", "expected"), CONVERTED)
def test_values_are_the_same_at_once_and_after_a_restart(
    slot: ClockedSlot, declared: Any, given: Any, expected: Any, ttl: bool
) -> None:
    def opened() -> tuple[Any, Any, Any]:
        wrap = expiring if ttl else lambda descriptor: descriptor
        return (
            slot.open("get_state", wrap(ValueStateDescriptor("v", declared)), "k"),
            slot.open("get_list_state", wrap(ListStateDescriptor("l", declared)), "k"),
            slot.open("get_map_state", wrap(MapStateDescriptor("m", int, declared)), "k"),
        )

    value, items, entries = opened()
    value.update(given)
    items.add_all([given, None])
    entries.put(1, given)
    for moment in ("at once", "after a restart"):
        value, items, entries = opened()
        first, second = items.get()
        shown = [value.value(), first, entries.get(1)]
        assert list(map(shown_fully, shown)) == [shown_fully(expected)] * 3, moment
        assert second is None
        slot.commit()
        slot.restart()


def shown_fully(value: Any) -> tuple[type, str]:
    """1 and 1.0 are equal, and so are a Row and the same Row without names."""
    return type(value), repr(value)


def test_a_value_of_the_type_is_kept_as_it_is(slot: ClockedSlot) -> None:
    for declared, value in [
        (Account, Account("x", 1, 2.0)),
        (Account, Account("x", 1, 2.0, "note")),
        (Types.LIST(Types.INT()), [1, None, 2]),
        (ROW, Row(a=1, b=None)),
        (Point, Point(1, 2.0)),
    ]:
        state = slot.open("get_state", ValueStateDescriptor(f"s{declared}", declared))
        state.update(value)
        assert state.value() is value


def test_keys_of_maps_and_elements_of_sets_are_held_to_their_types(slot: ClockedSlot) -> None:
    entries = slot.open("get_map_state", MapStateDescriptor("m", Types.STRING(), Types.INT()))
    with pytest.raises(StateError, match="expected STRING, got 1"):
        entries.put(1, 1)
    entries.put("a", 1)
    entries.remove("a")
    entries.remove(1)
    assert entries.is_empty()
    elements = slot.open("get_set_state", SetStateDescriptor("s", Types.DOUBLE()))
    with pytest.raises(StateError, match="expected DOUBLE, got 'x'"):
        elements.add("x")
    elements.add(1)
    assert repr(list(elements.get())) == "[1.0]"


class Mean(AggregateFunction):
    """Its accumulator is a pair of numbers."""

    def create_accumulator(self) -> Any:
        return 0, 0.0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + 1, accumulator[1] + value

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def test_accumulators_are_held_to_their_type(slot: ClockedSlot) -> None:
    state = slot.open("get_aggregating_state", AggregatingStateDescriptor("s", Mean(), PAIR))
    state.add(2)
    assert state.get() == (1, 2.0)
    counted = Types.TUPLE([Types.INT(), Types.STRING()])
    state = slot.open("get_aggregating_state", AggregatingStateDescriptor("t", Mean(), counted))
    with pytest.raises(StateError, match="field 'f1': expected STRING"):
        state.add(2)


def test_what_is_changed_in_place_is_held_to_the_type_at_the_end(slot: ClockedSlot) -> None:
    for number, declared in enumerate((Types.LIST(Types.INT()), Types.LIST(ROW))):
        state = slot.open("get_state", ValueStateDescriptor(f"s{number}", declared))
        state.update([])
        state.value().append("x")
        with pytest.raises(StateError, match=r"item 0: expected (INT|ROW_NAMED), got 'x'"):
            slot.commit()
        slot.restart()


class Wrong(KeyedProcessFunction):
    """Writes a text where a number was declared, for one element."""

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        self.state.update("many" if value == 1 else value)
        self.state.update(value)
        yield value


@pytest.mark.parametrize("cuts", [None, 1])
def test_the_error_names_element_and_line_however_the_input_is_cut(cuts: int | None) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    stream = env.from_collection([0, 1, 2]).key_by(lambda value: 7).process(Wrong()).name("wrong")
    with pytest.raises(FunctionError) as caught:
        collect_local(stream, cuts=cuts)
    said = str(caught.value)
    assert "key 7 was given 'many' (str), which is not of the declared type: expected INT" in said
    assert "on element 1\n" in said
    assert 'self.state.update("many" if value == 1 else value)' in said
