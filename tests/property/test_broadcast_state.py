"""Broadcast rules against a plain dict: applied in order, the same in every slot, after anything.

Events and rules stem from one source, so every event must see exactly the rules that stand before
it there, whichever slot it is sent to.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from scurry.datastream import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    StreamExecutionEnvironment,
)
from scurry.datastream.state import MapStateDescriptor, ValueStateDescriptor
from scurry.testing import collect_local

RULES = MapStateDescriptor("rules")
names = st.sampled_from(["a", "b", 3, (1, "x"), 2.5])
#: an event's number, or what to do to which rule
steps = st.lists(
    st.one_of(
        st.integers(0, 9),
        st.tuples(st.just("put"), names, st.one_of(st.integers(), st.lists(st.integers()))),
        st.tuples(st.just("append"), names, st.integers()),
        st.tuples(st.just("remove"), names, st.none()),
        st.tuples(st.just("clear"), st.none(), st.none()),
    ),
    min_size=1,
    max_size=40,
)
cuts = st.lists(st.integers(1, 7), min_size=1, max_size=6)
troubles = st.lists(st.integers(0, 8), max_size=3)


def change(rules: Any, step: tuple[str, Any, Any]) -> None:
    """The change a rule makes, to a dict or to broadcast state."""
    how, name, value = step
    if how == "put":
        rules[name] = value
    elif how == "append":
        held = rules.get(name)
        if isinstance(held, list):
            held.append(value)
    elif how == "remove":
        if name in rules:
            del rules[name]
    else:
        rules.clear()


class Plain(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value, repr(sorted(ctx.get_broadcast_state(RULES).items(), key=repr))

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        change(ctx.get_broadcast_state(RULES), value)


class Keyed(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        rules = sorted(ctx.get_broadcast_state(RULES).items(), key=repr)
        yield value, self.count.value(), repr(rules)

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        change(ctx.get_broadcast_state(RULES), value)


def run(data: list[Any], parallelism: int, keyed: bool, **how: Any) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    source = env.from_collection(list(enumerate(data)))
    events = source.filter(lambda e: isinstance(e[1], int))
    rules = source.filter(lambda e: isinstance(e[1], tuple)).map(lambda e: e[1])
    states = rules.broadcast(RULES)
    if keyed:
        stream = events.map(lambda e: e[1]).key_by(lambda e: e).connect(states).process(Keyed())
    else:
        stream = events.connect(states).process(Plain())
    return sorted(collect_local(stream, **how))


def brute_force(data: list[Any], keyed: bool) -> list[Any]:
    rules: dict[Any, Any] = {}
    counts: dict[Any, int] = {}
    out: list[Any] = []
    for at, step in enumerate(data):
        if isinstance(step, tuple):
            change(rules, copy.deepcopy(step))
            continue
        shown = repr(sorted(rules.items(), key=repr))
        if keyed:
            counts[step] = counts.get(step, 0) + 1
            out.append((step, counts[step], shown))
        else:
            out.append(((at, step), shown))
    return sorted(out)


@given(steps, cuts, troubles, troubles, st.integers(1, 3), st.booleans())
def test_every_event_sees_the_rules_before_it(
    data: list[Any],
    sizes: list[int],
    crash: list[int],
    restart: list[int],
    parallelism: int,
    keyed: bool,
) -> None:
    expected = brute_force(data, keyed)
    assert run(data, parallelism, keyed) == expected
    assert run(data, parallelism, keyed, cuts=sizes, crash=crash, restart=restart) == expected
