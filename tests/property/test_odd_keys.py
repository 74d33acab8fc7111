"""Keys that Python finds equal to nothing are one key all the same, however the input is cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scurry.common import Row, Types
from scurry.datastream import (
    KeyedProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.state import MapStateDescriptor, ValueStateDescriptor
from scurry.testing.local import collect_local


@dataclass(frozen=True)
class Place:
    """A point that may be unknown."""

    x: float


#: by name, so that the test can tell which are one key
MAKERS: dict[str, Any] = {
    "nan": lambda: float("nan"),
    "pair": lambda: (1, float("nan")),
    "nested": lambda: ((float("nan"),), None),
    "row": lambda: Row(3, float("nan")),
    "place": lambda: Place(float("nan")),
    "decimal": lambda: (2, Decimal("nan")),
    "set": lambda: frozenset({float("nan")}),
    "nat": lambda: np.datetime64("NaT"),
    "none": lambda: None,
    "one": lambda: 1.0,
}


class Seen(KeyedProcessFunction):
    """How often a key has come, counted by a value and by a map with that key."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.by_key = runtime_context.get_map_state(MapStateDescriptor("by key"))

    def process_element(self, value: tuple[str, Any], ctx: Any) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        key = MAKERS[value[0]]()
        self.by_key.put(key, (self.by_key.get(key) or 0) + 1)
        yield value[0], count, self.by_key.get(MAKERS[value[0]]()), len(list(self.by_key.keys()))


@settings(max_examples=30, deadline=None)
@given(
    names=st.lists(st.sampled_from(sorted(MAKERS)), min_size=1, max_size=60),
    cuts=st.lists(st.integers(1, 20), min_size=1, max_size=5),
    restart=st.sets(st.integers(0, 5)),
)
def test_state_of_keys_with_nan(names: list[str], cuts: list[int], restart: set[int]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    events = env.from_collection([(name, MAKERS[name]()) for name in names])
    found = collect_local(
        events.key_by(lambda event: event[1]).process(Seen()), cuts=cuts, restart=restart
    )
    seen: Counter[str] = Counter()
    expected = []
    for name in names:
        seen[name] += 1
        expected.append((name, seen[name], seen[name], 1))
    assert sorted(found) == sorted(expected)


class Size(ProcessWindowFunction):
    """The name of the key and how many elements there were."""

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[Any]:
        found = list(elements)
        yield found[0][0], len(found)


@settings(max_examples=20, deadline=None)
@given(
    names=st.lists(st.sampled_from(sorted(MAKERS)), min_size=1, max_size=40),
    cuts=st.lists(st.integers(1, 20), min_size=1, max_size=5),
)
def test_count_windows_of_keys_with_nan(names: list[str], cuts: list[int]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    events = env.from_collection([(name, MAKERS[name]()) for name in names])
    windows = events.key_by(lambda event: event[1]).count_window(2)
    found = collect_local(windows.process(Size()), cuts=cuts)
    assert Counter(found) == Counter(
        {(name, 2): count // 2 for name, count in Counter(names).items() if count > 1}
    )


@settings(max_examples=20, deadline=None)
@given(
    values=st.lists(st.sampled_from([float("nan"), 1.0, 2.5]), min_size=1, max_size=40),
    cuts=st.lists(st.integers(1, 20), min_size=1, max_size=5),
)
def test_a_typed_column_of_keys_with_nan(values: list[float], cuts: list[int]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    events = env.from_collection(
        [(value, 1) for value in values], type_info=Types.TUPLE([Types.DOUBLE(), Types.LONG()])
    )
    sums = events.key_by(lambda event: event[0], key_type=Types.DOUBLE()).sum(1)
    found = collect_local(sums, cuts=cuts)
    last = {repr(value): 0 for value in values}
    for value, total in found:
        last[repr(value)] = max(last[repr(value)], total)
    assert last == Counter(map(repr, values))
