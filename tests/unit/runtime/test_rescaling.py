"""What each kind of state becomes when the parallelism changes, piece by piece."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from scurry.checkpoint.epochs import Epoch, OperatorStates, rescaled
from scurry.connectors.datagen import DataGeneratorSource
from scurry.connectors.number_seq import NumberSequenceSource
from scurry.datastream import KeyedProcessFunction, MapFunction, StreamExecutionEnvironment
from scurry.datastream.functions import CheckpointedFunction
from scurry.datastream.state import ListStateDescriptor, ValueStateDescriptor
from scurry.engine.planner import deal_again
from scurry.runtime.event_time import redistribute_cells
from scurry.runtime.ingress import PartitionPlan, TaskPlan
from scurry.runtime.input_gate import InputGate
from scurry.runtime.specs import JobSpec
from scurry.state.codecs.records import RecordCodec, head_of, renumbered
from scurry.state.codecs.schemas import SchemaRow, merge_schemas
from scurry.state.operator_state import SPLIT, UNION, decode_state, encode_state
from scurry.testing import ListSink, collect_local
from scurry.testing.local import LocalJob


def environment(parallelism: int) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)


class Appending(KeyedProcessFunction):
    """Appends without reading, and shows the list at the last element."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.seen.add(value)
        if value == 19:
            yield from self.seen.get()


@pytest.mark.parametrize("rescale", [{12: 3}, {3: 3, 9: 1, 15: 2}, {1: 5, 2: 1}])
def test_a_list_keeps_its_order(rescale: dict[int, int]) -> None:
    """What is appended after the change stands behind what was there, in as many pieces as it was
    written in."""
    stream = environment(1).from_collection(range(20)).key_by(lambda n: "all")
    assert collect_local(stream.process(Appending()), cuts=1, rescale=rescale) == list(range(20))


@pytest.mark.parametrize(
    "source",
    [NumberSequenceSource(0, 99), DataGeneratorSource(lambda n: n, 100)],
    ids=["sequence", "generator"],
)
@pytest.mark.parametrize("rescale", [{2: 3}, {1: 1, 3: 4}])
@pytest.mark.parametrize("crash", [(), (2, 3)])
def test_sources_that_are_cut_by_parallelism_are_read_to_the_end(
    source: Any, rescale: dict[int, int], crash: tuple[int, ...]
) -> None:
    stream = environment(2).from_source(source, None, "numbers").key_by(lambda n: n)
    found = collect_local(stream.map(lambda n: n), cuts=10, crash=crash, rescale=rescale)
    assert sorted(found) == list(range(100))


class Reminder(KeyedProcessFunction):
    """Sets a timer of processing time, and says when it fires how many elements there were."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_processing_time_timer(100 + value)
        yield from ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        yield ctx.get_current_key(), timestamp, self.count.value()


def test_timers_of_processing_time_fire_once_after_the_change() -> None:
    env, sink = environment(2), ListSink()
    source = env.from_collection(range(30))
    source.key_by(lambda n: n % 10).process(Reminder()).sink_to(sink)
    with LocalJob(env._compile(None)) as job:
        for clock, parallelism in ((0, 2), (105, 3), (111, 1), (200, 4)):
            job.rescale(env.set_parallelism(parallelism)._compile(None))
            job.clock = clock
            assert job.step(8)
        assert job.done
    fired = [(key, at) for key, at, _ in sink.values]
    # those that came with the end of the input had no time left
    assert sorted(fired) == sorted((n % 10, 100 + n) for n in range(24))


SHARES: list[tuple[list[Any], list[Any]]] = []


class Remembering(MapFunction, CheckpointedFunction):
    """Keeps what it saw in a list that is dealt out, and in one that everybody gets."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.own = store.get_list_state(ListStateDescriptor("own"))
        self.all = store.get_union_list_state(ListStateDescriptor("all"))
        SHARES.append((self.own.get(), self.all.get()))
        self.mine: list[Any] = []

    def map(self, value: Any) -> Any:
        self.own.add(value)
        self.mine.append(value)
        return value

    def snapshot_state(self, context: Any) -> None:
        self.all.update(self.mine)


def test_lists_of_functions_are_dealt_out_and_union_lists_go_to_everyone() -> None:
    env = environment(2)
    stream = env.from_collection(range(12)).rebalance().map(Remembering()).uid("remembering")
    stream.sink_to(ListSink())
    with LocalJob(env._compile(None)) as job:
        assert job.step(6)
        for parallelism in (3, 1):
            SHARES.clear()
            job.rescale(env.set_parallelism(parallelism)._compile(None))
            assert job.step(3)
            assert len(SHARES) == parallelism
            seen = range(6 if parallelism == 3 else 9)
            assert sorted(n for own, _ in SHARES for n in own) == list(seen)
            sizes = [len(own) for own, _ in SHARES]
            assert max(sizes) - min(sizes) <= 1
            # each instance reported what it had seen itself, since it was started
            known = range(6) if parallelism == 3 else range(6, 9)
            assert all(sorted(union) == list(known) for _, union in SHARES)


def two_sources(parallelism: int) -> JobSpec:
    env = environment(parallelism)
    for name in ("one", "two"):
        env.from_collection([1]).uid(name).sink_to(ListSink()).uid(f"sink-{name}")
    spec = env._compile(None).spec
    return replace(spec, sources=tuple(replace(s, tasks=parallelism) for s in spec.sources))


def test_a_plan_is_dealt_out_to_the_tasks_there_are() -> None:
    """Nothing that a plan says is lost when there are fewer tasks, or more."""
    partitions = [PartitionPlan("one", str(n), n, [n], {"cell": n}) for n in range(5)]
    tasks = [
        TaskPlan(7, 0, 3, 11, [partitions[0], partitions[3]], True),
        TaskPlan(7, 1, 3, 11, [partitions[1], partitions[4]], True),
        TaskPlan(7, 2, 3, 11, [partitions[2], PartitionPlan("gone", "0", 5, [9], {})], True),
    ]
    for parallelism in (1, 2, 4):
        plans = deal_again(tasks, two_sources(parallelism), Epoch(7, {}, []))
        assert [plan.task for plan in plans] == list(range(parallelism))
        assert sorted(p.rank for plan in plans for p in plan.partitions) == list(range(5))
        assert all((plan.batch, plan.now, plan.final) == (7, 11, True) for plan in plans)


def test_states_of_functions_in_the_ingress_follow() -> None:
    def state(mode: str, *values: int) -> dict[str, bytes]:
        return {mode: encode_state(mode, list(values))}

    operators = OperatorStates(
        states={"map": {f"0:{task}": state(SPLIT, task, 10 + task) for task in range(3)}},
        unions={"map": {"0:0": state(UNION, 1), "0:2": state(UNION, 2), "1:10": state(UNION, 3)}},
    )
    made = rescaled(Epoch(3, {}, [], operators=operators), two_sources(2)).operators
    dealt = [decode_state(made.of_task(task)["map"][SPLIT])[1] for task in range(2)]
    assert dealt == [[0, 1, 2], [10, 11, 12]]
    assert {place: decode_state(s[UNION])[1] for place, s in made.unions["map"].items()} == {
        "0:0": [1, 2],
        "1:0": [3],
    }
    assert len(operators.unions["map"]) == 3


def test_channels_that_are_slots_become_others_and_partitions_stay() -> None:
    def renamed(channel: str) -> list[str]:
        return ["a@0", "a@1", "a@2"] if channel.startswith("a@") else [channel]

    before = [[5, {"a@0": 5, "a@1": 9, "source@7": 6}, ["a@0"], []]] * 2
    assert InputGate.redistribute(before, renamed) == [
        5,
        {"a@0": 9, "a@1": 9, "a@2": 9, "source@7": 6},
        [],
        [],
    ]
    idle = [[5, {"a@0": 5, "a@1": 3}, ["a@0", "a@1"], ["a@1"]]]
    assert InputGate.redistribute(idle, renamed) == [
        5,
        {"a@0": 3, "a@1": 3, "a@2": 3},
        ["a@0", "a@1", "a@2"],
        ["a@0", "a@1", "a@2"],
    ]


def test_the_slot_furthest_behind_decides_how_far_time_has_come() -> None:
    slots = [
        {"w|max": 10, "w|active": 3},
        {"w|max": 8, "w|active": 5},
    ]
    assert redistribute_cells(slots) == {"w|max": 8, "w|active": 5}
    assert redistribute_cells([*slots, {"w|active": 1}]) == {"w|active": 5}
    generators = [
        {"g|watermark": 7, "g|generator": "ahead", "g|idle": 1},
        {"g|watermark": 4, "g|generator": "behind", "g|idle": 0},
    ]
    assert redistribute_cells(generators) == {
        "g|watermark": 4,
        "g|generator": "behind",
        "g|idle": 0,
    }


def test_versions_of_schemas_that_slots_count_differently_are_counted_anew() -> None:
    """A slot that held nothing when a type changed counts from the new type on."""
    encode = msgspec.msgpack.encode
    name = b"op\x1fstate"
    rows, renumbering = merge_schemas(
        {
            0: {name: encode(SchemaRow("ValueState", ["LONG", "STRING"]))},
            1: {name: encode(SchemaRow("ValueState", ["STRING"], True, 5))},
            2: {name: encode(SchemaRow("ValueState", ["DOUBLE", "STRING"]))},
        }
    )
    row = msgspec.msgpack.decode(rows[name], type=SchemaRow)
    assert row.versions == ["LONG", "STRING", "DOUBLE"]
    assert row.since == 5
    assert renumbering == {1: {"op\x1fstate": [1]}, 2: {"op\x1fstate": [2, 1]}}


def test_classes_seen_by_several_slots_are_put_together() -> None:
    encode = msgspec.msgpack.encode
    held = [{"any": {"m:A": 1}}, {"any": {"m:A": 1, "m:B": 2}}, {"any": {"m:A": 3}}]
    rows, renumbering = merge_schemas(
        {
            slot: {b"op\x1fs": encode(SchemaRow("ValueState", [schema]))}
            for slot, schema in enumerate(held)
        }
    )
    row = msgspec.msgpack.decode(rows[b"op\x1fs"], type=SchemaRow)
    assert row.versions == [{"any": {"m:A": 1, "m:B": 2}}, {"any": {"m:A": 3}}]
    assert renumbering == {2: {"op\x1fs": [1]}}


@pytest.mark.parametrize("value", [7, (1, 2)])
@pytest.mark.parametrize("stamped", [False, True])
def test_a_record_gets_another_version(value: Any, stamped: bool) -> None:
    codec = RecordCodec("op\x1fs", stamped=stamped)
    later = RecordCodec("op\x1fs", version=3, stamped=stamped)
    held = (value, 99) if stamped else value
    record = codec.pack(("key",), held)
    assert renumbered(record, [3]) == later.pack(("key",), held)
    assert renumbered(record, [0]) == record
    assert head_of(renumbered(record, [3])) == ("key",)
