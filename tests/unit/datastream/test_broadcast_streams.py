"""The broadcast state pattern: rules reach every instance and stay the same in all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from scurry.common import WatermarkStrategy
from scurry.common.errors import FunctionError, ProgramError
from scurry.datastream import (
    BroadcastProcessFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    OutputTag,
    StreamExecutionEnvironment,
)
from scurry.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from scurry.runtime.broadcast import broadcast_table
from scurry.state.slot_store import SlotStore
from scurry.testing import ListSink, collect_local, run_local
from scurry.testing.local import LocalJob

RULES = MapStateDescriptor("rules")
SIDE = OutputTag("side")


def environment(parallelism: int = 2) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)


class Match(BroadcastProcessFunction):
    """Yields, per event, the names of the rules whose limit it exceeds."""

    def open(self, runtime_context: Any) -> None:
        self.place = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        rules = ctx.get_broadcast_state(RULES)
        yield value, [name for name, limit in rules.items() if value > limit]

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        rules = ctx.get_broadcast_state(RULES)
        name, limit = value
        if limit is None:
            rules.remove(name)
        else:
            rules.put(name, limit)
        ctx.output(SIDE, (self.place, list(rules.items())))
        yield SIDE, (self.place, ctx.timestamp(), ctx.current_watermark() < 0)


def split(env: StreamExecutionEnvironment, data: list[Any]) -> tuple[DataStream, DataStream]:
    """Numbers are events, pairs are rules, in the order given."""
    source = env.from_collection(data)
    return (
        source.filter(lambda e: not isinstance(e, tuple)),
        source.filter(lambda e: isinstance(e, tuple)),
    )


@pytest.mark.parametrize("cuts", [None, 1, 2])
def test_events_see_the_rules_before_them(cuts: int | None) -> None:
    env = environment(3)
    data = [5, ("b", 3), 5, 2, ("a", 1), 2, 5, ("b", None), 5]
    events, rules = split(env, data)
    found = collect_local(events.connect(rules.broadcast(RULES)).process(Match()), cuts=cuts)
    expected = [(5, []), (5, ["b"]), (2, []), (2, ["a"]), (5, ["a", "b"]), (5, ["a"])]
    assert Counter(map(repr, found)) == Counter(map(repr, expected))


def test_every_instance_sees_every_rule_once_and_side_outputs_work() -> None:
    env = environment(3)
    side = ListSink()
    events, rules = split(env, [("x", 1), ("w", 2)])
    stream = events.connect(rules.broadcast(RULES)).process(Match())
    stream.print()
    stream.get_side_output(SIDE).sink_to(side)
    run_local(env)
    expected = []
    for place in range(3):
        expected += [(place, [("x", 1)]), (place, [("w", 2), ("x", 1)])]
        expected += [(place, None, True)] * 2
    assert Counter(map(repr, side.values)) == Counter(map(repr, expected))


def test_rules_survive_restarts() -> None:
    env = environment(2)
    events, rules = split(env, [("b", 3), ("a", 1), 9, 9, 9, 9])
    found = collect_local(
        events.connect(rules.broadcast(RULES)).process(Match()), cuts=1, restart=[2, 4], crash=[3]
    )
    assert found == [(9, ["a", "b"])] * 4


def test_all_slots_hold_the_same_rules() -> None:
    env = environment(3)
    events, rules = split(env, [("b", 3), 1, 2, ("a", 1), 3, ("c", 9), ("b", None), 4])
    stream = events.connect(rules.broadcast(RULES)).process(Match()).uid("match")
    stream.sink_to(ListSink())
    with LocalJob(env._compile(None)) as job:
        while not job.done:
            job.crash_step(3)
            job.restart(lose_local_state=True)
        held = []
        for place, store in job._stores.items():
            slot = SlotStore(store, 128)
            slot.begin(job.checkpoint.journal(place))
            held.append(list(broadcast_table(slot, "match", "rules").items()))
    assert held == [[("a", 1), ("c", 9)]] * 3


@dataclass
class Rule:
    limit: int
    hits: int = 0


def test_values_changed_in_place_by_rules_are_kept() -> None:
    class Count(BroadcastProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            rules = ctx.get_broadcast_state(RULES)
            yield [(name, rule.hits) for name, rule in rules.items()]

        def process_broadcast_element(self, value: Any, ctx: Any) -> None:
            rules = ctx.get_broadcast_state(RULES)
            rule = rules.get(value[0])
            if rule is None:
                rules[value[0]] = Rule(1)
            else:
                rule.hits += 1

    env = environment(1)
    events, rules = split(env, [("a",), ("a",), ("b",), ("a",), 1])
    found = collect_local(
        events.connect(rules.broadcast(RULES)).process(Count()), cuts=1, restart=[1, 2, 3, 4]
    )
    assert found == [[("a", 2), ("b", 0)]]


class Keyed(KeyedBroadcastProcessFunction):
    """Remembers events per key; a rule resets the memory of all keys and reports."""

    seen = ListStateDescriptor("seen")

    def open(self, runtime_context: Any) -> None:
        self.events = runtime_context.get_list_state(self.seen)

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.events.add(value)
        if ctx.timestamp() is not None:
            ctx.timer_service().register_event_time_timer(ctx.timestamp() + 10)
        yield ctx.get_current_key(), value, len(list(ctx.get_broadcast_state(RULES).keys()))

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(*value)

        def reset(key: Any, state: Any) -> None:
            ctx.output(SIDE, (key, list(state.get())))
            state.clear()

        ctx.apply_to_keyed_state(self.seen, reset)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        rules = dict(ctx.get_broadcast_state(RULES).items())
        yield ctx.get_current_key(), timestamp, rules, ctx.time_domain().name


@pytest.mark.parametrize("cuts", [None, 1, 2])
def test_the_broadcast_side_reaches_the_state_of_all_keys(cuts: int | None) -> None:
    env = environment(2)
    main, side = ListSink(), ListSink()
    events, rules = split(env, [1, 2, 3, 4, ("a", 0), 5, ("b", 0), ("c", 0)])
    keyed = events.key_by(lambda e: e % 3)
    stream = keyed.connect(rules.broadcast(RULES)).process(Keyed())
    stream.sink_to(main)
    stream.get_side_output(SIDE).sink_to(side)
    run_local(env, cuts=cuts, restart=[2], crash=[3])
    assert sorted(main.values) == [(0, 3, 0), (1, 1, 0), (1, 4, 0), (2, 2, 0), (2, 5, 1)]
    assert sorted(side.values) == [(0, [3]), (1, [1, 4]), (2, [2]), (2, [5])]


def test_keyed_state_of_every_kind_can_be_reached() -> None:
    value, mapped = ValueStateDescriptor("value"), MapStateDescriptor("map")
    reduced = ReducingStateDescriptor("reduced", lambda a, b: a + b)

    class Kinds(KeyedBroadcastProcessFunction):
        def open(self, runtime_context: Any) -> None:
            self.value = runtime_context.get_state(value)
            self.map = runtime_context.get_map_state(mapped)
            self.reduced = runtime_context.get_reducing_state(reduced)

        def process_element(self, value: Any, ctx: Any) -> None:
            self.value.update(value)
            self.map.put(value, value)
            self.reduced.add(value)

        def process_broadcast_element(self, rule: Any, ctx: Any) -> Iterable[Any]:
            found: list[Any] = []
            ctx.apply_to_keyed_state(value, lambda key, state: found.append((key, state.value())))
            ctx.apply_to_keyed_state(mapped, lambda key, state: found.append(state.keys()))
            ctx.apply_to_keyed_state(reduced, lambda key, state: found.append(state.get()))
            yield found

    env = environment(1)
    events, rules = split(env, [1, 2, 1, ("go",)])
    stream = events.key_by(lambda e: e).connect(rules.broadcast(RULES)).process(Kinds())
    (found,) = collect_local(stream, cuts=2)
    assert sorted(map(repr, found)) == sorted(map(repr, [(1, 1), (2, 2), [1], [2], 2, 2]))


def test_timers_see_the_rules_of_their_time() -> None:
    env = environment(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda e, _: e[1] if isinstance(e, tuple) else e
    )
    source = env.from_collection([0, ("a", 5), 15, ("b", 16)])
    timed = source.assign_timestamps_and_watermarks(strategy)
    events = timed.filter(lambda e: isinstance(e, int))
    rules = timed.filter(lambda e: isinstance(e, tuple))
    keyed = events.key_by(lambda e: e)
    stream = keyed.connect(rules.broadcast(RULES)).process(Keyed())
    assert collect_local(stream) == [
        (0, 0, 0),
        (15, 15, 1),
        (0, 10, {"a": 5}, "EVENT_TIME"),
        (15, 25, {"a": 5, "b": 16}, "EVENT_TIME"),
    ]


@pytest.mark.parametrize(
    "write",
    [
        lambda s: s.put("a", 1),
        lambda s: s.put_all({"a": 1}),
        lambda s: s.remove("a"),
        lambda s: s.clear(),
        lambda s: s.__setitem__("a", 1),
        lambda s: s.__delitem__("a"),
    ],
)
def test_only_rules_write_rules(write: Any) -> None:
    class Cheat(Match):
        def process_element(self, value: Any, ctx: Any) -> None:  # type: ignore[override]
            write(ctx.get_broadcast_state(RULES))

    env = environment()
    events, rules = split(env, [1])
    stream = events.connect(rules.broadcast(RULES)).process(Cheat())
    with pytest.raises(FunctionError, match=r"'rules' was written outside process_broadcast"):
        collect_local(stream)


def test_keyed_state_without_a_key_is_refused() -> None:
    class Cheat(Keyed):
        def process_broadcast_element(self, value: Any, ctx: Any) -> None:
            self.events.add(1)

    env = environment()
    events, rules = split(env, [("a", 1)])
    stream = events.key_by(lambda e: e).connect(rules.broadcast(RULES)).process(Cheat())
    with pytest.raises(FunctionError, match=r"no key is being processed.*apply_to_keyed_state"):
        collect_local(stream)


def test_a_state_that_was_not_broadcast_is_named() -> None:
    class Cheat(Match):
        def process_broadcast_element(self, value: Any, ctx: Any) -> None:  # type: ignore[override]
            ctx.get_broadcast_state(MapStateDescriptor("others"))

    env = environment()
    events, rules = split(env, [("a", 1)])
    stream = events.connect(rules.broadcast(RULES)).process(Cheat())
    with pytest.raises(FunctionError, match=r"'others'\), but the stream was broadcast with 'rul"):
        collect_local(stream)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda a, b: b.broadcast(5), "broadcast takes MapStateDescriptors, got 5"),
        (lambda a, b: b.broadcast(RULES, RULES), "two states named 'rules'"),
        (lambda a, b: b.key_by(lambda e: e).broadcast(RULES), "separate elements of one key"),
        (
            lambda a, b: a.connect(b.broadcast(RULES)).process(Keyed()),
            "without keys connected with a broadcast stream needs a BroadcastProcessFunction",
        ),
        (
            lambda a, b: a.key_by(lambda e: e).connect(b.broadcast(RULES)).process(Match()),
            "a keyed stream connected with .* needs a KeyedBroadcastProcessFunction",
        ),
        (
            lambda a, b: a.connect(environment().from_collection([1]).broadcast(RULES)),
            "one environment only",
        ),
    ],
)
def test_mistakes(build: Any, message: str) -> None:
    env = environment()
    with pytest.raises(ProgramError, match=message):
        build(env.from_collection([1]), env.from_collection([2]))


def test_explain_shows_the_broadcast_input() -> None:
    env = environment()
    events, rules = split(env, [1])
    events.connect(rules.broadcast(RULES)).process(Match()).print()
    shown = env.explain()
    assert "+= rebalance => [input 1] Co-Process-Broadcast" in shown
    assert "+= broadcast => [input 2] Co-Process-Broadcast" in shown
