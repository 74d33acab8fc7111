"""Every kind of keyed state against its plain-Python model, across commits, crashes and losses.

The kinds are found by introspection: a new getter of the runtime context without a model here fails
the suite.
"""

from __future__ import annotations

import copy
import inspect
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contract._slots import SETTINGS

from scurry.common.errors import ProgramError
from scurry.common.time import Time
from scurry.functions import AggregateFunction, KeyedStateStore
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
from scurry.state.journal import MemoryJournal
from scurry.state.slot_store import SlotStore
from scurry.state.tables.key_scope import KeyScope


class Average(AggregateFunction):
    def create_accumulator(self) -> Any:
        return [0, 0]

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator[0] += value
        accumulator[1] += 1
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return [acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]]


class Model:
    """How a kind of state behaves, on a plain value per key (None: nothing there)."""

    def __init__(
        self,
        getter: str,
        descriptor: Callable[[], Any],
        read: Callable[[Any], Any],
        shown: Callable[[Any], Any],
        actions: dict[str, tuple[Callable[..., None], Callable[..., Any]]],
    ) -> None:
        self.getter = getter
        self.descriptor = descriptor
        self.read = read
        self.shown = shown
        #: name: what to do to the state, what the plain value becomes
        self.actions = actions


def put(held: Any, k: Any, v: Any) -> Any:
    return {**(held or {}), k: v}


def removed(held: Any, k: Any, _: Any) -> Any:
    return {key: value for key, value in (held or {}).items() if key != k} or None


MODELS = [
    Model(
        "get_state",
        lambda: ValueStateDescriptor("s"),
        lambda state: state.value(),
        lambda held: held,
        {
            "update": (lambda s, k, v: s.update(v), lambda held, k, v: v),
            "clear": (lambda s, k, v: s.clear(), lambda held, k, v: None),
        },
    ),
    Model(
        "get_list_state",
        lambda: ListStateDescriptor("s"),
        lambda state: list(state.get()),
        lambda held: held or [],
        {
            "add": (lambda s, k, v: s.add(v), lambda held, k, v: [*(held or []), v]),
            "add_all": (lambda s, k, v: s.add_all([k, v]), lambda h, k, v: [*(h or []), k, v]),
            "update": (lambda s, k, v: s.update([v, v]), lambda held, k, v: [v, v]),
            "read": (lambda s, k, v: list(s), lambda held, k, v: held),
            "clear": (lambda s, k, v: s.clear(), lambda held, k, v: None),
        },
    ),
    Model(
        "get_map_state",
        lambda: MapStateDescriptor("s"),
        lambda state: dict(state.items()),
        lambda held: held or {},
        {
            "put": (lambda s, k, v: s.put(k, v), put),
            "put_all": (lambda s, k, v: s.put_all({k: v}), put),
            "put_pairs": (lambda s, k, v: s.put_all([(k, v)]), put),
            "remove": (lambda s, k, v: s.remove(k), removed),
            "get": (lambda s, k, v: s.get(k), lambda held, k, v: held),
            "contains": (lambda s, k, v: s.contains(k), lambda held, k, v: held),
            "clear": (lambda s, k, v: s.clear(), lambda held, k, v: None),
        },
    ),
    Model(
        "get_set_state",
        lambda: SetStateDescriptor("s"),
        lambda state: (sorted(state.get()), state.is_empty()),
        lambda held: (sorted(held or ()), not held),
        {
            "add": (lambda s, k, v: s.add(v), lambda held, k, v: {*(held or ()), v}),
            "add_all": (lambda s, k, v: s.add_all([k, v]), lambda h, k, v: {*(h or ()), k, v}),
            "remove": (lambda s, k, v: s.remove(v), lambda held, k, v: (held or set()) - {v}),
            "contains": (lambda s, k, v: v in s, lambda held, k, v: held),
            "read": (lambda s, k, v: list(s), lambda held, k, v: held),
            "clear": (lambda s, k, v: s.clear(), lambda held, k, v: None),
        },
    ),
    Model(
        "get_bag_state",
        lambda: BagStateDescriptor("s"),
        lambda state: (sorted(state.get()), state.is_empty()),
        lambda held: (sorted(held or ()), not held),
        {
            "add": (lambda s, k, v: s.add(v), lambda held, k, v: [*(held or ()), v]),
            "add_all": (lambda s, k, v: s.add_all({k, v}), lambda h, k, v: [*(h or ()), *{k, v}]),
            "read": (lambda s, k, v: list(s), lambda held, k, v: held),
            "clear": (lambda s, k, v: s.clear(), lambda held, k, v: None),
        },
    ),
    Model(
        "get_reducing_state",
        lambda: ReducingStateDescriptor("s", lambda a, b: a + b),
        lambda state: state.get(),
        lambda held: held,
        {
            "add": (lambda s, k, v: s.add(v), lambda held, k, v: v if held is None else held + v),
            "clear": (lambda s, k, v: s.clear(), lambda held, k, v: None),
        },
    ),
    Model(
        "get_aggregating_state",
        lambda: AggregatingStateDescriptor("s", Average()),
        lambda state: state.get(),
        lambda held: None if held is None else sum(held) / len(held),
        {
            "add": (lambda s, k, v: s.add(v), lambda held, k, v: [*(held or []), v]),
            "clear": (lambda s, k, v: s.clear(), lambda held, k, v: None),
        },
    ),
]


def test_every_kind_of_state_has_a_model() -> None:
    getters = {name for name, _ in inspect.getmembers(KeyedStateStore, inspect.isfunction)}
    assert getters == {model.getter for model in MODELS}


class Slot:
    """One slot with a state, which can commit, crash, move and lose its local store."""

    def __init__(self, model: Model, path: Path, backend: str = "disk", ttl: bool = False) -> None:
        self.model = model
        self.local: Any = SETTINGS[backend].local_store(path)
        self.journal = MemoryJournal()
        self.ttl = ttl
        self.start()

    def start(self) -> None:
        self.store = SlotStore(self.local, 128)
        self.begin()

    def begin(self) -> None:
        self.store.begin(self.journal)
        self.scope = KeyScope()
        task = TaskContext(TaskPlace(0, 128), TaskState(self.store))
        spec = OperatorSpec(uid="op", name="op", make=lambda spec: None)  # type: ignore
        context = KeyedRuntimeContext(spec, task, self.scope)
        descriptor = self.model.descriptor()
        if self.ttl:
            for_ever = StateTtlConfig.new_builder(Time.days(9)).update_ttl_on_read_and_write()
            descriptor.enable_time_to_live(for_ever.build())
        self.state = getattr(context, self.model.getter)(descriptor)
        self.store.prefetch("op", ["b", "nobody", "a", "b"])

    def commit(self) -> None:
        self.store.commit(self.journal, b"")


keys = st.sampled_from(["a", "b", 3, ("t", 1), "long" * 200])
steps = st.lists(
    st.one_of(
        st.tuples(st.just("act"), keys, st.integers(0, 9), st.integers(0, 3), st.integers(-9, 9)),
        st.sampled_from([("commit",), ("move",), ("crash",), ("torn",), ("lose",)]),
    ),
    max_size=40,
)


@pytest.mark.parametrize("ttl", [False, True], ids=["no-ttl", "ttl"])
@pytest.mark.parametrize("backend", list(SETTINGS))
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.getter)
@given(steps=steps)
def test_state_is_as_its_model_says(
    model: Model, backend: str, ttl: bool, steps: list[Any]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        slot = Slot(model, Path(directory) / "s", backend, ttl)
        truth: dict[Any, Any] = {}
        saved: dict[Any, Any] = {}
        actions = list(model.actions.values())
        for step, *arguments in steps:
            if step == "act":
                key, which, k, v = arguments
                do, expect = actions[which % len(actions)]
                slot.scope.key = key
                do(slot.state, k, v)
                truth[key] = expect(truth.get(key), k, v)
            elif step in ("commit", "move"):
                slot.commit()
                saved = copy.deepcopy(truth)
                if step == "commit":
                    slot.begin()
                else:
                    slot.start()
            else:
                if step == "torn":
                    before = copy.deepcopy(slot.journal)
                    slot.commit()
                    slot.journal = before
                elif step == "lose":
                    slot.local.reset()
                truth = copy.deepcopy(saved)
                slot.start()
            for key in truth:
                slot.scope.key = key
                assert model.read(slot.state) == model.shown(truth[key])
        slot.local.close()


@pytest.mark.parametrize("size", [1, 17, 40])
def test_a_list_in_many_pieces_is_put_together_again(size: int, tmp_path: Path) -> None:
    slot = Slot(MODELS[1], tmp_path / "s")
    for n in range(size):
        slot.scope.key = "k"
        slot.state.add(n)
        slot.commit()
        slot.start()
    slot.scope.key = "k"
    assert list(slot.state.get()) == list(range(size))
    slot.commit()
    slot.start()
    pieces = sum(1 for _ in slot.local.scan("op\x1fs"))
    assert pieces == (1 if size > 16 else size)
    slot.scope.key = "k"
    assert list(slot.state.get()) == list(range(size))


@pytest.mark.parametrize("getter", ["get_list_state", "get_set_state", "get_bag_state"])
def test_adding_reads_nothing(getter: str, tmp_path: Path, monkeypatch: Any) -> None:
    slot = Slot(next(m for m in MODELS if m.getter == getter), tmp_path / "s")
    slot.scope.key = "k"
    slot.state.add(1)
    slot.commit()
    slot.begin()
    for read in ("scan", "get"):
        monkeypatch.setattr(slot.local, read, lambda *a: pytest.fail("a blind add must not read"))
    slot.scope.key = "k"
    slot.state.add(2)
    slot.commit()


def test_maps_are_listed_in_an_order_that_only_depends_on_their_keys(tmp_path: Path) -> None:
    orders = []
    for name, entries in (("x", [5, 1, "b", 9, "a"]), ("y", ["a", 9, "b", 1, 5])):
        slot = Slot(MODELS[2], tmp_path / name)
        for entry in entries:
            slot.scope.key = "k"
            slot.state.put(entry, entry)
            if entry == "b":
                slot.commit()
                slot.begin()
        slot.scope.key = "k"
        orders.append(list(slot.state.keys()))
    assert orders[0] == orders[1]


def test_an_element_changed_in_place_is_kept(tmp_path: Path) -> None:
    for number, (model, read) in enumerate(
        [(MODELS[1], lambda s: s.get()[0]), (MODELS[2], lambda s: s.get(1))]
    ):
        slot = Slot(model, tmp_path / str(number))
        slot.scope.key = "k"
        slot.state.put(1, ["x"]) if number else slot.state.add(["x"])
        slot.commit()
        slot.start()
        slot.scope.key = "k"
        read(slot.state).append("y")
        slot.commit()
        slot.start()
        slot.scope.key = "k"
        assert read(slot.state) == ["x", "y"]


def test_one_name_is_one_kind_of_state(tmp_path: Path) -> None:
    slot = Slot(MODELS[0], tmp_path / "s")
    task = TaskContext(TaskPlace(0, 128), TaskState(slot.store))
    spec = OperatorSpec(uid="op", name="my op", make=lambda spec: None)  # type: ignore
    context = KeyedRuntimeContext(spec, task, KeyScope())
    context.get_state(ValueStateDescriptor("n"))
    with pytest.raises(ProgramError, match="'n' for a ValueStateDescriptor and for a Map"):
        context.get_map_state(MapStateDescriptor("n"))
    with pytest.raises(ProgramError, match="ListStateDescriptor is needed"):
        context.get_list_state(ValueStateDescriptor("m"))  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="needs an AggregateFunction"):
        context.get_aggregating_state(AggregatingStateDescriptor("a", max))
