"""Which keys are one key: the same however the input is cut, in memory and in every store.

Equality in Python is no equivalence across classes (a ``numpy.datetime64`` equals both a date and
midnight of that day), so the test says itself which keys are one: those in one line below.
"""

from __future__ import annotations

import datetime as dt
import enum
import pickle
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scurry.common import Configuration, Row, Types
from scurry.common.keys import FrozenKey, freeze, stable_hash
from scurry.common.types import RowKind
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.state import MapStateDescriptor, SetStateDescriptor, ValueStateDescriptor
from scurry.testing.local import collect_local


class Level(enum.IntEnum):
    LOW = 1


class Word(str, enum.Enum):  # noqa: UP042  (its str() is not its value)
    A = "a"


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Text(str):
    """A text of one's own."""


class Folded(str):
    """A text that takes itself to be equal whatever its letters' case; as a key it is its text."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.lower() == other.lower()

    def __hash__(self) -> int:
        return hash(self.lower())


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass(frozen=True)
class User:
    name: Any
    number: Any


@dataclass(eq=False)
class Thing:
    """Equal to itself alone, in Python."""

    name: str


def utc(*fields: int, hours: int = 0) -> dt.datetime:
    return dt.datetime(*fields, tzinfo=dt.timezone(dt.timedelta(hours=hours)))  # type: ignore[misc,arg-type]


def twice(fold: int) -> dt.datetime:
    """Half past two in Berlin, on the night when that comes twice."""
    return dt.datetime(2024, 10, 27, 2, 30, fold=fold, tzinfo=ZoneInfo("Europe/Berlin"))


NOON = dt.datetime(2020, 1, 1, 12)  # noqa: DTZ001
MIDNIGHT = dt.datetime(2020, 1, 1)  # noqa: DTZ001
EAST = dt.timezone(dt.timedelta(hours=1))

#: each line is one key
LINES: list[list[Callable[[], Any]]] = [
    [
        *(lambda: 1, lambda: True, lambda: 1.0, lambda: Decimal("1.00"), lambda: Fraction(2, 2)),
        *(lambda: np.int64(1), lambda: np.uint8(1), lambda: np.float32(1), lambda: np.True_),
        *(lambda: Level.LOW, lambda: np.longdouble(1)),
    ],
    [lambda: 0, lambda: 0.0, lambda: -0.0, lambda: False, lambda: Decimal("-0.0")],
    [lambda: 0.5, lambda: Decimal("0.50"), lambda: Fraction(1, 2), lambda: np.float16(0.5)],
    [lambda: 0.1, lambda: np.float64(0.1), lambda: Fraction(0.1)],
    [lambda: np.float32(0.1), lambda: float(np.float32(0.1))],
    [lambda: Decimal("0.1"), lambda: Fraction(1, 10)],
    [lambda: 2**53 + 1],
    [lambda: 2**53, lambda: float(2**53 + 1)],
    [lambda: 10**30],
    [lambda: float("inf"), lambda: Decimal("Infinity")],
    [lambda: float("nan"), lambda: Decimal("nan"), lambda: np.float32("nan")],
    [lambda: np.datetime64("NaT"), lambda: pd.NaT, lambda: np.timedelta64("NaT")],
    [lambda: None],
    [lambda: "a", lambda: np.str_("a"), lambda: Text("a"), lambda: Word.A, lambda: Folded("a")],
    [lambda: "A", lambda: Folded("A")],
    [lambda: b"a", lambda: np.bytes_(b"a")],
    [lambda: Colour.RED],
    [lambda: Colour.BLUE],
    [lambda: uuid.UUID(int=1)],
    [lambda: dt.date(2020, 1, 1)],
    [
        *(lambda: MIDNIGHT, lambda: np.datetime64("2020-01-01"), lambda: pd.Timestamp(MIDNIGHT)),
        *(lambda: np.datetime64("2020-01-01T00", "h"), lambda: np.datetime64("2020-01")),
        *(lambda: np.datetime64("2020-01-01T00:00:00.000000000"), lambda: np.datetime64("2020")),
    ],
    [lambda: NOON, lambda: NOON.replace(fold=1), lambda: np.datetime64("2020-01-01T12", "ms")],
    [
        lambda: pd.Timestamp("2020-01-01 00:00:00.000000001"),
        lambda: np.datetime64("2020-01-01T00:00:00.000000001"),
    ],
    [lambda: np.datetime64(1, "ps")],
    [lambda: np.datetime64("20000-01-01")],
    [lambda: np.datetime64("20000-01-02"), lambda: np.datetime64("20000-01-02T00", "h")],
    [
        lambda: utc(2020, 1, 1, 12),
        lambda: utc(2020, 1, 1, 13, hours=1),
        lambda: pd.Timestamp(utc(2020, 1, 1, 12)),
    ],
    [lambda: twice(0), lambda: utc(2024, 10, 27, 0, 30)],
    [lambda: twice(1), lambda: utc(2024, 10, 27, 1, 30)],
    [lambda: dt.time(1)],
    [lambda: dt.time(12, tzinfo=dt.UTC), lambda: dt.time(13, tzinfo=EAST)],
    [lambda: dt.time(0, 30, tzinfo=EAST)],
    [
        lambda: dt.timedelta(seconds=5),
        lambda: np.timedelta64(5, "s"),
        lambda: np.timedelta64(5000, "ms"),
        lambda: pd.Timedelta(seconds=5),
    ],
    [lambda: np.timedelta64(5, "ns"), lambda: pd.Timedelta(5, "ns")],
    [lambda: np.timedelta64(12, "M"), lambda: np.timedelta64(1, "Y")],
    [lambda: np.timedelta64(5)],
    [
        lambda: (1, "a"),
        lambda: Pair(1, "a"),
        lambda: (True, Text("a")),
        lambda: (1.0, np.str_("a")),
    ],
    [
        lambda: (1, MIDNIGHT),
        lambda: (1, np.datetime64("2020-01-01")),
        lambda: Pair(1, pd.Timestamp(MIDNIGHT)),
    ],
    [lambda: (Colour.RED, MIDNIGHT), lambda: (Colour.RED, np.datetime64("2020-01-01"))],
    [lambda: (1, dt.time(12, tzinfo=dt.UTC)), lambda: (1, dt.time(13, tzinfo=EAST))],
    [lambda: (1, float("nan"))],
    [lambda: ((1,), "a")],
    [
        lambda: Row(1, "a"),
        lambda: Row(x=1, y="a"),
        lambda: Row(z=1.0, y="a"),
        lambda: Row.of_kind(RowKind.DELETE, 1, "a"),
    ],
    [lambda: Row(1, MIDNIGHT), lambda: Row(1, np.datetime64("2020-01-01"))],
    [lambda: Row(1, Row(2)), lambda: Row(1, Row(x=2))],
    [lambda: User("a", 1), lambda: User(Text("a"), 1.0)],
    [lambda: User("a", twice(0))],
    [lambda: User("a", twice(1))],
    [lambda: Thing("a")],
    [lambda: frozenset({1, 2}), lambda: frozenset({2.0, True})],
    [lambda: frozenset({MIDNIGHT}), lambda: frozenset({np.datetime64("2020-01-01")})],
]
MAKERS = [(line, make) for line, makes in enumerate(LINES) for make in makes]


def test_forms_and_equality_in_memory_agree_for_all_pairs() -> None:
    for line, make in MAKERS:
        for other_line, other_make in MAKERS:
            one, other = freeze(make()), freeze(other_make())
            shown = f"{make()!r} ({type(make())}) and {other_make()!r} ({type(other_make())})"
            same = line == other_line
            assert (stable_hash(one) == stable_hash(other)) == same, shown
            assert bool(one == other) == same, shown
            assert (one in {other: 1}) == same, shown


def test_frozen_keys_travel() -> None:
    for _, make in MAKERS:
        key = freeze(make())
        assert pickle.loads(pickle.dumps(key)) == key
    old = FrozenKey.__new__(FrozenKey)
    old.__setstate__((None, {"key": Row(1), "form": b"anything"}))
    assert old == freeze(Row(1))


class Seen(KeyedProcessFunction):
    """How often the key of an event has come, by a value and by a map and a set of another key."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.by_key = runtime_context.get_map_state(MapStateDescriptor("by key"))
        self.keys = runtime_context.get_set_state(SetStateDescriptor("keys"))

    def process_element(self, value: tuple[int, Any], ctx: Any) -> Iterator[Any]:
        number, key = value
        self.count.update((self.count.value() or 0) + 1)
        self.by_key.put(key, (self.by_key.get(key) or 0) + 1)
        self.keys.add(key)
        ctx.timer_service().register_event_time_timer(10)
        yield number, self.count.value(), self.by_key.get(key), len(list(self.keys.get()))

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield "end", self.count.value(), len(list(self.by_key.keys()))


SETTINGS = {
    "memory": {"state.backend.type": "memory"},
    "disk": {"state.backend.type": "disk"},
    "runs": {"scurry.state.runs-above": "0"},
}


def found(chosen: list[int], settings: str, parallelism: int, **how: Any) -> Counter[Any]:
    configuration = Configuration.of(SETTINGS[settings])
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    events = env.from_collection([(at, MAKERS[at][1]()) for at in chosen])
    stream = events.key_by(lambda event: event[1]).process(Seen())
    return Counter(collect_local(stream, **how))


@settings(max_examples=15, deadline=None)
@given(
    chosen=st.lists(st.integers(0, len(MAKERS) - 1), min_size=1, max_size=12),
    cuts=st.sampled_from([None, 1, 3]),
    settings=st.sampled_from(sorted(SETTINGS)),
    parallelism=st.sampled_from([1, 3]),
)
@example(list(range(len(MAKERS))), None, "memory", 1)
@example(list(range(len(MAKERS))), 1, "disk", 3)
@example(list(range(len(MAKERS)))[::-1], 1, "runs", 3)
def test_states_and_timers_know_which_keys_are_one(
    chosen: list[int], cuts: int | None, settings: str, parallelism: int
) -> None:
    seen: Counter[int] = Counter()
    expected: Counter[Any] = Counter()
    for at in chosen:
        seen[MAKERS[at][0]] += 1
        count = seen[MAKERS[at][0]]
        expected[at, count, count, 1] += 1
    expected.update(("end", count, 1) for count in seen.values())
    restart = {1, 3} if cuts == 1 else set()
    assert found(chosen, settings, parallelism, cuts=cuts, restart=restart) == expected


@pytest.mark.parametrize("cuts", [None, 1])
def test_maps_hold_all_of_them_apart(cuts: int | None) -> None:
    class AllInOne(Seen):
        def process_element(self, value: tuple[int, Any], ctx: Any) -> Iterator[Any]:
            for number, count, *_ in super().process_element(value, ctx):
                yield number, self.by_key.get(value[1]), count

        def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
            yield "end", len(list(self.by_key.keys())), len(list(self.keys.get()))

    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    events = env.from_collection([(at, make()) for at, (_, make) in enumerate(MAKERS)])
    values = collect_local(events.key_by(lambda event: 0).process(AllInOne()), cuts=cuts)
    seen: Counter[int] = Counter()
    for at, (line, _) in enumerate(MAKERS):
        seen[line] += 1
        assert values[at] == (at, seen[line], at + 1)
    assert values[-1] == ("end", len(LINES), len(LINES))
