"""Any kind of record, any operator, any change at any moment: as if each emission were copied."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scurry.common.types import Row
from scurry.datastream import KeyedProcessFunction, ProcessFunction, StreamExecutionEnvironment
from scurry.datastream.state import ValueStateDescriptor
from scurry.testing import ListSink, run_local


@dataclass
class Data:
    n: int
    inner: Any


@dataclass(slots=True)
class Slots:
    n: int
    inner: Any


class Struct(msgspec.Struct):
    n: int
    inner: Any


class Attributes:
    def __init__(self, n: int, inner: Any) -> None:
        self.n, self.inner = n, inner


class OfItems:
    """Reading and changing records whose parts are items."""

    def __init__(self, make: Callable[[int, Any], Any], n: Any, inner: Any) -> None:
        self.make, self._n, self._inner = make, n, inner

    def read(self, record: Any) -> tuple[int, Any]:
        return int(record[self._n]), copy.deepcopy(plain(record[self._inner]))

    def add(self, record: Any, amount: int) -> None:
        record[self._n] += amount
        grow(record[self._inner], amount)


class OfAttributes:
    """The same for attributes."""

    def __init__(self, make: Callable[[int, Any], Any]) -> None:
        self.make = make

    def read(self, record: Any) -> tuple[int, Any]:
        return record.n, copy.deepcopy(plain(record.inner))

    def add(self, record: Any, amount: int) -> None:
        record.n += amount
        grow(record.inner, amount)


RECORDS: dict[str, Any] = {
    "dataclass": OfAttributes(Data),
    "slots": OfAttributes(Slots),
    "struct": OfAttributes(Struct),
    "object": OfAttributes(Attributes),
    "row": OfAttributes(lambda n, inner: Row(n=n, inner=inner)),
    "dict": OfItems(lambda n, inner: {"n": n, "inner": inner}, "n", "inner"),
    "list": OfItems(lambda n, inner: [n, inner], 0, 1),
}
INNER: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "list": list,
    "dict": dict,
    "array": lambda: np.zeros(2, dtype=np.int64),
    "bytes": bytearray,
    "deep": lambda: ("tuple", [[{"n": 0}]]),
    "data": lambda: Data(0, []),
}


def grow(inner: Any, amount: int) -> None:
    """Change a part of a record in place."""
    if isinstance(inner, list):
        inner.append(amount)
    elif isinstance(inner, dict):
        inner[amount] = inner.get(amount, 0) + 1
    elif isinstance(inner, np.ndarray):
        inner += amount
    elif isinstance(inner, bytearray):
        inner.append(amount)
    elif isinstance(inner, tuple):
        inner[1][0][0]["n"] += amount
    elif isinstance(inner, Data):
        inner.n += amount
        inner.inner.append(amount)


def plain(inner: Any) -> Any:
    """A part of a record as something that can be compared."""
    return inner.tolist() if isinstance(inner, np.ndarray) else inner


@dataclass
class Steps:
    """What is done to a record: changes by some number, yields (None), and how it is wrapped."""

    kind: str
    inner: str
    steps: list[int | None]
    wrap: str
    stateful: bool

    def of(self, start: Any, emit: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
        """Go through the steps, emitting what ``emit`` makes of the record."""
        record, emitted = start, []
        for step in self.steps:
            if step is None:
                emitted.append(emit(record))
            else:
                RECORDS[self.kind].add(record, step)
        return record, emitted

    def fresh(self) -> Any:
        return RECORDS[self.kind].make(0, INNER[self.inner]())

    def wrapped(self, record: Any) -> Any:
        return {"tuple": (1, record), "list": [record], "bare": record}[self.wrap]

    def unwrapped(self, value: Any) -> Any:
        return {"tuple": lambda: value[1], "list": lambda: value[0], "bare": lambda: value}[
            self.wrap
        ]()

    def read(self, value: Any) -> Any:
        return RECORDS[self.kind].read(self.unwrapped(value))


class Stateful(KeyedProcessFunction):
    def __init__(self, steps: Steps) -> None:
        self.steps = steps

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("record"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        record = self.state.value()
        record = self.steps.fresh() if record is None else record
        for step in self.steps.steps:
            if step is None:
                yield self.steps.wrapped(record)
            else:
                RECORDS[self.steps.kind].add(record, step)
        self.state.update(record)


class Stateless(ProcessFunction):
    def __init__(self, steps: Steps) -> None:
        self.steps = steps

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        record = self.steps.fresh()
        for step in self.steps.steps:
            if step is None:
                yield self.steps.wrapped(record)
            else:
                RECORDS[self.steps.kind].add(record, step)


programs = st.builds(
    Steps,
    st.sampled_from(sorted(RECORDS)),
    st.sampled_from(sorted(INNER)),
    st.lists(st.one_of(st.none(), st.integers(1, 9)), min_size=1, max_size=6),
    st.sampled_from(["tuple", "list", "bare"]),
    st.booleans(),
)


@given(programs, st.integers(1, 3), st.sampled_from([None, 1, 2]), st.lists(st.integers(0, 2)))
def test_emissions_are_values(
    program: Steps, count: int, cuts: int | None, crash: list[int]
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    source = env.from_collection(list(range(count)))
    if program.stateful:
        results = source.key_by(lambda _: 1).process(Stateful(program))
    else:
        results = source.process(Stateless(program))
    sinks = [ListSink() for _ in range(3)]

    def spoil(value: Any) -> Any:
        RECORDS[program.kind].add(program.unwrapped(value), 100)
        return value

    results.map(program.read).sink_to(sinks[0])
    results.map(spoil).map(program.read).sink_to(sinks[1])
    results.filter(lambda _: True).sink_to(sinks[2])
    run_local(env, cuts, crash)

    expected: list[Any] = []
    record = program.fresh()
    for _ in range(count):
        start = record if program.stateful else program.fresh()
        record, emitted = program.of(start, copy.deepcopy)
        expected += emitted
    read = RECORDS[program.kind].read
    assert sinks[0].values == list(map(read, expected))
    assert list(map(program.read, sinks[2].values)) == list(map(read, expected))
    for one in expected:
        RECORDS[program.kind].add(one, 100)
    assert sinks[1].values == list(map(read, expected))
