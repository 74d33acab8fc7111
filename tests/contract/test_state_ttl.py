"""State that expires, against a model that remembers when each entry was written."""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.contract._slots import SETTINGS, ClockedSlot

from scurry.common import Time
from scurry.common.errors import ConfigurationError, ProgramError
from scurry.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.functions import AggregateFunction
from scurry.runtime.keyed_state import KeyedRuntimeContext
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext, TaskPlace, TaskState
from scurry.state import (
    AggregatingStateDescriptor,
    BagStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    SetStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from scurry.state.tables.key_scope import KeyScope
from scurry.testing import collect_local

TTL = 10


class Sum(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def config(**wanted: Any) -> StateTtlConfig:
    builder = StateTtlConfig.new_builder(Time.milliseconds(wanted.pop("ttl", TTL)))
    for name, value in wanted.items():
        getattr(builder, name)(*value)
    return builder.build()


def add_up(held: dict[Any, Any], value: int) -> None:
    held["sum"] = held.get("sum", 0) + value


#: name: getter, descriptor, write, how entries of the model (name: value) change, read, shown.
#: The model keeps entries by name, so that each has a time of its own.
KINDS: dict[str, Any] = {
    "value": (
        "get_state",
        lambda: ValueStateDescriptor("s"),
        lambda s, v, n: s.update(v),
        lambda held, v, n: held.update(only=v),
        lambda s: s.value(),
        lambda held: held.get("only"),
    ),
    "list": (
        "get_list_state",
        lambda: ListStateDescriptor("s"),
        lambda s, v, n: s.add(v),
        lambda held, v, n: held.update({n: v}),
        lambda s: list(s.get()),
        lambda held: list(held.values()),
    ),
    "bag": (
        "get_bag_state",
        lambda: BagStateDescriptor("s"),
        lambda s, v, n: s.add(v),
        lambda held, v, n: held.update({n: v}),
        lambda s: sorted(s.get()),
        lambda held: sorted(held.values()),
    ),
    "map": (
        "get_map_state",
        lambda: MapStateDescriptor("s"),
        lambda s, v, n: s.put(v % 3, v),
        lambda held, v, n: held.update({v % 3: v}),
        lambda s: dict(s.items()),
        lambda held: dict(held),
    ),
    "set": (
        "get_set_state",
        lambda: SetStateDescriptor("s"),
        lambda s, v, n: s.add(v),
        lambda held, v, n: held.update({v: v}),
        lambda s: sorted(s.get()),
        lambda held: sorted(held),
    ),
    "reducing": (
        "get_reducing_state",
        lambda: ReducingStateDescriptor("s", lambda a, b: a + b),
        lambda s, v, n: s.add(v),
        lambda held, v, n: add_up(held, v),
        lambda s: s.get(),
        lambda held: held.get("sum"),
    ),
    "aggregating": (
        "get_aggregating_state",
        lambda: AggregatingStateDescriptor("s", Sum()),
        lambda s, v, n: s.add(v),
        lambda held, v, n: add_up(held, v),
        lambda s: s.get(),
        lambda held: held.get("sum"),
    ),
}

steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from("ab"), st.integers(1, 9)),
        st.tuples(st.just("read"), st.sampled_from("ab"), st.just(0)),
        st.tuples(st.just("time"), st.just(""), st.integers(1, 8)),
        st.sampled_from([("commit", "", 0), ("restart", "", 0), ("lose", "", 0)]),
    ),
    max_size=30,
)


@pytest.mark.parametrize("on_read", [False, True], ids=["write", "read-and-write"])
@pytest.mark.parametrize("kind", KINDS)
@given(steps=steps)
@example(
    # one of two entries has expired when both are read: that renews the other
    steps=[
        *(("write", "a", 1), ("time", "", 2), ("write", "a", 2), ("time", "", 8)),
        *(("read", "a", 0), ("time", "", 2), ("read", "a", 0)),
    ]
)
def test_entries_live_as_long_as_they_should(kind: str, on_read: bool, steps: list[Any]) -> None:
    getter, describe, write, note, read, shown = KINDS[kind]
    wanted: dict[str, Any] = {"update_ttl_on_read_and_write": ()} if on_read else {}
    with tempfile.TemporaryDirectory() as directory:
        slot = ClockedSlot(Path(directory) / "s", "memory")
        # per key: entries, and when each was written
        truth: dict[str, tuple[dict[Any, Any], dict[Any, int]]] = {}
        saved = copy.deepcopy(truth)

        def expire(key: str) -> tuple[dict[Any, Any], dict[Any, int]]:
            held, times = truth.setdefault(key, ({}, {}))
            for entry in [e for e, time in times.items() if time + TTL <= slot.now]:
                del held[entry], times[entry]
            return held, times

        for number, (step, key, amount) in enumerate(steps):
            if step in ("write", "read"):
                descriptor = describe()
                descriptor.enable_time_to_live(config(**wanted))
                state = slot.open(getter, descriptor, key)
                held, times = expire(key)
                if step == "write":
                    write(state, amount, number)
                    before = dict(held)
                    note(held, amount, number)
                    changed = [e for e in held if e not in before or held[e] != before[e]]
                    rewritten = {"value": ["only"], "map": [amount % 3], "set": [amount]}
                    for entry in {*changed, *rewritten.get(kind, ())}:
                        times[entry] = slot.now
                else:
                    assert read(state) == shown(held)
                    if on_read:
                        times.update(dict.fromkeys(held, slot.now))
            elif step == "time":
                slot.now += amount
            elif step == "commit":
                slot.commit()
                saved = copy.deepcopy(truth)
            else:
                if step == "lose":
                    slot.local.reset()
                truth = copy.deepcopy(saved)
                slot.restart()


def test_an_expired_entry_is_shown_once_if_asked_for(tmp_path: Path) -> None:
    for kind, (getter, describe, write, _, read, shown) in KINDS.items():
        slot = ClockedSlot(tmp_path / kind)
        descriptor = describe()
        descriptor.enable_time_to_live(config(return_expired_if_not_cleaned_up=()))
        state = slot.open(getter, descriptor)
        write(state, 7, 0)
        slot.now = TTL
        empty = shown({})
        assert read(state) != empty, kind
        assert read(state) == empty, kind


def test_disabled_means_for_ever(tmp_path: Path) -> None:
    slot = ClockedSlot(tmp_path / "s")
    descriptor = ValueStateDescriptor("s")
    descriptor.enable_time_to_live(config(set_update_type=(StateTtlConfig.UpdateType.Disabled,)))
    slot.open("get_state", descriptor).update(1)
    slot.now = 10**15
    assert slot.open("get_state", descriptor).value() == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_time_to_live_can_come_later_and_go_again(kind: str, tmp_path: Path) -> None:
    getter, describe, write, _, read, shown = KINDS[kind]
    slot = ClockedSlot(tmp_path / "s")
    write(slot.open(getter, describe()), 7, 0)
    slot.commit()

    slot.now = 1000
    slot.restart()
    expiring = describe()
    expiring.enable_time_to_live(config())
    there = read(slot.open(getter, expiring))
    assert there != shown({}), "old entries count as written when the state gets a time to live"
    slot.commit()
    slot.now = 1000 + TTL - 1
    slot.restart()
    assert read(slot.open(getter, expiring)) == there
    write(slot.open(getter, expiring, "fresh"), 7, 1)
    slot.commit()

    slot.now = 1000 + TTL
    slot.restart()
    assert read(slot.open(getter, expiring)) == shown({})
    slot.commit()
    slot.restart()
    slot.now = 10**9
    assert read(slot.open(getter, describe(), "fresh")) == there, "switched off again"


@pytest.mark.parametrize("backend", list(SETTINGS))
@pytest.mark.parametrize("kind", KINDS)
def test_incremental_cleanup_deletes_what_nobody_comes_back_to(
    kind: str, backend: str, tmp_path: Path
) -> None:
    getter, describe, write, *_ = KINDS[kind]
    slot = ClockedSlot(tmp_path / "s", backend)

    def state(key: Any) -> Any:
        descriptor = describe()
        descriptor.enable_time_to_live(config(cleanup_incrementally=(5, False)))
        return slot.open(getter, descriptor, key)

    for key in range(3000):
        write(state(key), 7, 0)
    slot.commit()
    assert slot.records() == 3000
    full = slot.size()
    slot.now = TTL
    for batch in range(4):
        write(state("other"), 7, 0)
        slot.commit()
        assert slot.records() <= max(1, 3001 - 1000 * (batch + 1)) + 4
    assert slot.records() <= 4
    assert slot.size() < full / 10


@pytest.mark.parametrize("backend", ["disk", "runs"])
def test_compaction_deletes_what_has_expired(backend: str, tmp_path: Path) -> None:
    slot = ClockedSlot(tmp_path / "s", backend, small_log=5000)
    descriptor = ValueStateDescriptor("s")
    descriptor.enable_time_to_live(
        config(disable_cleanup_in_background=(), cleanup_full_snapshot=())
    )
    for key in range(2000):
        slot.open("get_state", descriptor, key).update(f"value {key * 7919}")
    slot.commit()
    full = slot.checkpoint_bytes()
    slot.now = TTL
    sizes = []
    for batch in range(400):
        for key in range(100):
            slot.open("get_state", descriptor, ("new", key)).update(f"{batch * 7919}")
        slot.commit()
        sizes.append((slot.records(), slot.checkpoint_bytes()))
    assert sizes[0][0] == 2100, "nothing but compaction cleans up"
    assert sizes[-1][0] == 100
    assert sizes[-1][1] < full
    lost = ClockedSlot(tmp_path / "t", "memory")
    lost.journal = slot.journal
    lost.now = slot.now
    lost.restart()
    assert lost.records() == 100


def test_event_time_counts_by_the_watermark(tmp_path: Path) -> None:
    slot = ClockedSlot(tmp_path / "s")
    descriptor = ValueStateDescriptor("s")
    descriptor.enable_time_to_live(config(use_event_time=()))
    state = slot.open("get_state", descriptor)
    slot.timestamp, slot.now = 100, 5
    state.update("x")
    slot.now = 10**9
    assert state.value() == "x", "there is no watermark, and the clock on the wall does not count"
    slot.watermark = 100 + TTL - 1
    assert state.value() == "x"
    slot.watermark = 100 + TTL
    assert state.value() is None


class LastSeen(KeyedProcessFunction):
    """Says when the key was last seen, if that is not too long ago."""

    def open(self, runtime_context: Any) -> None:
        descriptor = ValueStateDescriptor("last", int)
        descriptor.enable_time_to_live(
            StateTtlConfig.new_builder(Time.milliseconds(50)).use_event_time().build()
        )
        self.last = runtime_context.get_state(descriptor)

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield (*value, self.last.value())
        self.last.update(value[1])


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


EVENTS = [(key, time + shift) for time in range(0, 600, 7) for key, shift in (("a", 0), ("b", -5))]
EVENTS = [event for event in EVENTS if not (event[0] == "b" and 100 < event[1] < 300)]


def last_seen(**how: Any) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    stream = env.from_collection(EVENTS).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(SecondField())
    )
    return collect_local(stream.key_by(lambda e: e[0]).process(LastSeen()), **how)


def test_event_time_does_not_depend_on_how_the_input_is_cut() -> None:
    expected, last, highest = [], dict[str, tuple[int, int]](), -(10**9)
    for key, time in EVENTS:
        watermark = highest - 1
        before, written = last.get(key, (None, watermark))
        expected.append((key, time, None if written + 50 <= watermark else before))
        last[key] = (time, max(time, watermark))
        highest = max(highest, time)
    assert [row[:2] for row in expected if row[2] is None] == [("a", 0), ("b", -5), ("b", 303)]
    assert last_seen() == expected
    assert last_seen(cuts=1) == expected
    assert last_seen(cuts=[3, 11, 5], crash=[2, 5], restart=[3, 7]) == expected


def test_a_configuration_says_what_was_set() -> None:
    plain = StateTtlConfig.new_builder(Time.seconds(3)).build()
    assert plain.get_ttl() == Time.seconds(3)
    assert plain.is_enabled()
    assert plain.get_update_type() is StateTtlConfig.UpdateType.OnCreateAndWrite
    assert plain.get_state_visibility() is StateTtlConfig.StateVisibility.NeverReturnExpired
    processing = StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
    assert plain.get_ttl_time_characteristic() is processing
    strategies = plain.get_cleanup_strategies()
    assert strategies.is_cleanup_in_background()
    assert not strategies.in_full_snapshot()
    incremental = strategies.get_incremental_cleanup_strategy()
    assert incremental is not None
    assert incremental.get_cleanup_size() == 5
    assert not incremental.run_cleanup_for_every_record()
    compaction = strategies.get_rocksdb_compact_filter_cleanup_strategy()
    assert compaction is not None
    assert compaction.get_query_time_after_num_entries() == 1000

    quiet = StateTtlConfig.new_builder(Time.seconds(3)).disable_cleanup_in_background().build()
    assert quiet.get_cleanup_strategies().get_incremental_cleanup_strategy() is None
    assert quiet.get_cleanup_strategies().get_rocksdb_compact_filter_cleanup_strategy() is None


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="longer than zero"):
        StateTtlConfig.new_builder(Time.seconds(0)).build()
    with pytest.raises(ConfigurationError, match="must be positive, got 0"):
        StateTtlConfig.new_builder(Time.seconds(1)).cleanup_incrementally(0, False)
    with pytest.raises(ProgramError, match="state 's' needs a StateTtlConfig, got 5"):
        ValueStateDescriptor("s").enable_time_to_live(5)  # type: ignore[arg-type]


def test_event_time_needs_an_operator_that_has_it(tmp_path: Path) -> None:
    slot = ClockedSlot(tmp_path / "s")
    spec = OperatorSpec(uid="op", name="my op", make=lambda spec: None)  # type: ignore
    task = TaskContext(TaskPlace(0, 128), TaskState(slot.store))
    descriptor = ValueStateDescriptor("s")
    descriptor.enable_time_to_live(config(use_event_time=()))
    with pytest.raises(ProgramError, match="State 's' of operator 'my op' has a time to live in"):
        KeyedRuntimeContext(spec, task, KeyScope()).get_state(descriptor)
