"""Every kind of state, queried while the job runs: what a query sees is what is committed.

For any input, any cut into micro-batches, crashes between computing and committing, restarts and
changes of parallelism, an answer is what plain Python computes of the input that is committed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract._views import Viewed, environment, viewed

from scurry.common import Types
from scurry.datastream import KeyedProcessFunction
from scurry.datastream.functions import AggregateFunction
from scurry.queryable.errors import QueryError
from scurry.state import (
    AggregatingStateDescriptor,
    BagStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    SetStateDescriptor,
    ValueStateDescriptor,
)
from scurry.testing import ListSink
from scurry.testing.local import LocalJob
from scurry.testing.local_rounds import LocalRounds


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


class Kind(NamedTuple):
    """A kind of state: how it is got, what an element does to it, and what a key then has."""

    descriptor: Callable[[], Any]
    get: str
    use: Callable[[Any, int], None]
    expected: Callable[[list[int]], dict[str, Any] | None]


def _use_value(state: Any, n: int) -> None:
    state.clear() if n % 5 == 0 else state.update((state.value() or 0) + n)


def _value(numbers: list[int]) -> dict[str, Any] | None:
    held: int | None = None
    for n in numbers:
        held = None if n % 5 == 0 else (held or 0) + n
    return None if held is None else {"value": held}


def _use_list(state: Any, n: int) -> None:
    state.update([n]) if n % 4 == 0 else state.add(n)


def _list(numbers: list[int]) -> dict[str, Any]:
    held: list[int] = []
    for n in numbers:
        held = [n] if n % 4 == 0 else [*held, n]
    return {"elements": held}


def _use_map_with_clear(state: Any, n: int) -> None:
    if n % 6 == 0:
        state.clear()
    elif n % 7 == 0:
        state.remove(n % 3)
    else:
        state.put(n % 3, n)


def _cleared_map(numbers: list[int]) -> dict[str, Any] | None:
    held: dict[int, int] = {}
    for n in numbers:
        if n % 6 == 0:
            held.clear()
        elif n % 7 == 0:
            held.pop(n % 3, None)
        else:
            held[n % 3] = n
    return {"entries": [{"key": k, "value": v} for k, v in sorted(held.items())]} if held else None


KINDS = {
    "value": Kind(lambda: ValueStateDescriptor("s"), "get_state", _use_value, _value),
    "typed value": Kind(
        lambda: ValueStateDescriptor("s", Types.LONG()), "get_state", _use_value, _value
    ),
    "list": Kind(lambda: ListStateDescriptor("s"), "get_list_state", _use_list, _list),
    "map": Kind(
        lambda: MapStateDescriptor("s"), "get_map_state", _use_map_with_clear, _cleared_map
    ),
    "set": Kind(
        lambda: SetStateDescriptor("s", Types.LONG()),
        "get_set_state",
        lambda state, n: state.add(n % 5),
        lambda numbers: {"elements": sorted({n % 5 for n in numbers})},
    ),
    "bag": Kind(
        lambda: BagStateDescriptor("s"),
        "get_bag_state",
        lambda state, n: state.add(n),
        lambda numbers: {"elements": numbers},
    ),
    "reducing": Kind(
        lambda: ReducingStateDescriptor("s", max, Types.LONG()),
        "get_reducing_state",
        lambda state, n: state.add(n),
        lambda numbers: {"value": max(numbers)},
    ),
    "aggregating": Kind(
        lambda: AggregatingStateDescriptor("s", Mean()),
        "get_aggregating_state",
        lambda state, n: state.add(n),
        lambda numbers: {"value": sum(numbers) / len(numbers)},
    ),
}


class Using(KeyedProcessFunction):
    """Does to a state what its kind does with each element."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def open(self, runtime_context: Any) -> None:
        chosen = KINDS[self.kind]
        descriptor = chosen.descriptor()
        descriptor.set_queryable("asked")
        self.state = getattr(runtime_context, chosen.get)(descriptor)

    def process_element(self, value: tuple[Any, int], ctx: Any) -> Any:
        KINDS[self.kind].use(self.state, value[1])
        yield value


def program(kind: str, events: list[tuple[Any, int]], parallelism: int, **settings: Any) -> Any:
    env = environment(parallelism, **settings)
    stream = env.from_collection(events).uid("events")
    kept = stream.key_by(lambda event: event[0]).process(Using(kind)).uid("using")
    kept.sink_to(ListSink()).uid("sink")
    return env


def answered(view: Viewed, key: Any) -> dict[str, Any] | None:
    """What a query for a key sees, without what every answer carries."""
    try:
        told = view.queries.get("asked", key)
    except QueryError as refused:
        if refused.code != "no_such_key":
            raise
        return None
    assert told["batch"] == view.committed
    return {name: told[name] for name in told.keys() & {"value", "elements", "entries"}}


def check(view: Viewed, kind: str, events: list[tuple[Any, int]], keys: set[Any]) -> None:
    """Every key has what the committed part of the input makes of it."""
    by_key: dict[Any, list[int]] = defaultdict(list)
    for key, number in events:
        by_key[key].append(number)
    for key in keys:
        numbers = by_key.get(key)
        expected = KINDS[kind].expected(numbers) if numbers else None
        assert answered(view, key) == expected, key


keys = st.sampled_from(["a", "b", "long " * 120, 3, None, "d\x00"])
inputs = st.lists(st.tuples(keys, st.integers(1, 50)), min_size=1, max_size=24)


@settings(max_examples=4 * len(KINDS))
@given(
    kind=st.sampled_from(sorted(KINDS)),
    events=inputs,
    cut=st.integers(1, 8),
    crashes=st.sets(st.integers(0, 5)),
    restarts=st.sets(st.integers(0, 5)),
    in_runs=st.booleans(),
)
def test_a_query_sees_what_is_committed(
    kind: str,
    events: list[tuple[Any, int]],
    cut: int,
    crashes: set[int],
    restarts: set[int],
    in_runs: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    chosen = {"scurry.state.runs-above": 0} if in_runs else {}
    asked = {key for key, _ in events}
    root = tmp_path_factory.mktemp("views")
    with viewed(program(kind, events, 2, **chosen), root) as view:
        done = 0
        for step in range(100):
            if step in restarts:
                view.job.restart(lose_local_state=True)
            if not view.compute_only(cut):
                break
            if done:
                check(view, kind, events[:done], asked)
            if step in crashes:
                view.job.recover()
                if done:
                    check(view, kind, events[:done], asked)
                assert view.job.step(cut)
            else:
                view.job.checkpoint.commit(view.job.batch)
                view.job._protocol.committed()
            done = min(done + cut, len(events))
            check(view, kind, events[:done], asked)
        assert done == len(events)


@pytest.mark.parametrize("kind", ["value", "list", "map", "aggregating"])
@pytest.mark.parametrize("copies", [False, True])
def test_a_view_follows_a_job_to_another_parallelism(
    kind: str, copies: bool, tmp_path: Path
) -> None:
    events = [(f"key {n % 7}", n + 1) for n in range(160)]
    asked = {key for key, _ in events}
    make = partial(LocalRounds, copies=True) if copies else LocalJob
    with viewed(program(kind, events, 1), tmp_path, make=make) as view:
        for degree in (1, 3, 2):
            view.job.rescale(program(kind, events, degree)._compile(None))
            # what was committed is shown while the view is filled again
            before = view.job.batch
            assert view.job.step(10)
            assert view.job.batch == before + 1
            done = view.job._progress.counters["read:events"]
            check(view, kind, events[:done], asked)


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("kind", ["value", "list", "map", "aggregating"])
def test_a_view_follows_a_job_of_rounds(kind: str, copies: bool, tmp_path: Path) -> None:
    events = [(f"key {n % 7}", n + 1) for n in range(60)]
    asked = {key for key, _ in events}
    make = partial(LocalRounds, copies=copies)
    with viewed(program(kind, events, 2), tmp_path, make=make) as view:
        done = 0
        while view.job.step(4):
            # a micro-batch has four rounds
            done = min(done + 16, len(events))
            check(view, kind, events[:done], asked)
            if done == 32:
                # what the rounds of a micro-batch have done counts once it is a checkpoint
                assert view.job.plan_step(4)
                check(view, kind, events[:done], asked)
                view.job.recover()
                check(view, kind, events[:done], asked)
        assert done == len(events)
        assert isinstance(view.job, LocalRounds)
        assert (view.job.copied > 0) == copies


def test_a_scan_finds_all_keys(tmp_path: Path) -> None:
    events = [(n % 5, n) for n in range(1, 31)]
    counts = Counter(key for key, _ in events[:20])
    with viewed(program("bag", events, 2), tmp_path) as view:
        assert view.job.step(20)
        rows = view.queries.scan("asked")["rows"]
    assert {row["key"]: len(row["elements"]) for row in rows} == counts
