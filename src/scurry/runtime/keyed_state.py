"""Keyed state for functions: from a descriptor to a handle on the slot's tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from scurry.common.errors import ProgramError
from scurry.functions.adapters import reduce_function
from scurry.functions.contexts import RuntimeContext
from scurry.functions.transforms import AggregateFunction
from scurry.runtime.operator import TaskContext
from scurry.runtime.specs import OperatorSpec
from scurry.state.list_table import ListTable, TableListState
from scurry.state.map_table import MapTable, TableMapState
from scurry.state.slot_store import SlotStore
from scurry.state.states import (
    AggregatingState,
    AggregatingStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    State,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from scurry.state.table import KeyScope, TableValueState, address

D = TypeVar("D", bound=StateDescriptor)


def store_of(task: TaskContext) -> SlotStore:
    """The state of the task's slot."""
    assert task.store is not None, "keyed operators run in stages, which have a store"
    return task.store


class KeyedRuntimeContext(RuntimeContext):
    """The runtime context of a function on a keyed stream."""

    def __init__(
        self, spec: OperatorSpec, task: TaskContext, scope: KeyScope, space: str = ""
    ) -> None:
        """``space`` keeps apart states of the same name, such as a window's and its key's."""
        super().__init__(
            spec.name,
            spec.uid,
            task.index,
            spec.parallelism,
            task.max_parallelism,
            task.parameters,
            task.metrics.group(spec),
        )
        self._scope = scope
        self._store = store_of(task)
        self._space = space
        self._kinds: dict[str, type] = {}

    def _check(self, descriptor: Any, kind: type[D]) -> D:
        if not isinstance(descriptor, kind):
            raise ProgramError(
                f"Operator {self.get_task_name()!r} asked for state with {descriptor!r} where a "
                f"{kind.__name__} is needed."
            )
        known = self._kinds.setdefault(descriptor.name, kind)
        if known is not kind:
            raise ProgramError(
                f"Operator {self.get_task_name()!r} uses the state name {descriptor.name!r} for a "
                f"{known.__name__} and for a {kind.__name__}; give each state its own name."
            )
        return descriptor

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        self._check(state_descriptor, ValueStateDescriptor)
        return self._value(state_descriptor)

    def _value(self, descriptor: StateDescriptor) -> TableValueState:
        table = self._store.table(self._uid, f"{self._space}{descriptor.name}")
        return TableValueState(table, self._scope)

    def _name(self, descriptor: StateDescriptor) -> str:
        return f"{self._uid}\x1f{self._space}{descriptor.name}"

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        name = self._name(self._check(state_descriptor, ListStateDescriptor))
        store = self._store
        table = store.part(
            name,
            lambda: ListTable(name, store.local, store.max_parallelism, lambda: store.epoch),
        )
        return TableListState(table, self._scope)

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> TableMapState:
        name = self._name(self._check(state_descriptor, MapStateDescriptor))
        store = self._store
        table = store.part(name, lambda: MapTable(name, store.local, store.max_parallelism))
        return TableMapState(table, self._scope)

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState[Any]:
        descriptor = self._check(state_descriptor, ReducingStateDescriptor)
        reduce = reduce_function(descriptor.reduce_function).reduce
        return TableReducingState(self._value(descriptor), reduce)

    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor
    ) -> AggregatingState[Any, Any]:
        descriptor = self._check(state_descriptor, AggregatingStateDescriptor)
        if not isinstance(descriptor.agg_function, AggregateFunction):
            raise ProgramError(
                f"AggregatingStateDescriptor {descriptor.name!r} needs an AggregateFunction, got "
                f"{descriptor.agg_function!r}."
            )
        return TableAggregatingState(self._value(descriptor), descriptor.agg_function)

    def state_of(self, descriptor: StateDescriptor) -> State:
        """The handle on the state that ``descriptor`` describes, of whatever kind."""
        for kind, get in self._getters().items():
            if isinstance(descriptor, kind):
                return get(descriptor)
        raise ProgramError(
            f"Operator {self.get_task_name()!r} asked for keyed state with {descriptor!r} where a "
            "state descriptor is needed."
        )

    def _getters(self) -> dict[type[StateDescriptor], Callable[[Any], State]]:
        return {
            ValueStateDescriptor: self.get_state,
            ListStateDescriptor: self.get_list_state,
            MapStateDescriptor: self.get_map_state,
            ReducingStateDescriptor: self.get_reducing_state,
            AggregatingStateDescriptor: self.get_aggregating_state,
        }

    def keys_with(self, descriptor: StateDescriptor) -> list[Any]:
        """All keys of the slot that have the state, in an order that depends on them alone."""
        self.state_of(descriptor)
        table = self._store.listed(self._uid, descriptor.name)
        groups = self._store.max_parallelism
        return sorted((key for key, _ in table.items()), key=lambda key: address(key, groups))


class TableReducingState(ReducingState[Any]):
    """Keeps the reduced value; a box around it tells a reduced None from nothing."""

    def __init__(self, held: TableValueState, reduce: Any) -> None:
        self._held = held
        self._reduce = reduce

    def get(self) -> Any:
        box = self._held.value()
        return None if box is None else box[0]

    def add(self, value: Any) -> None:
        box = self._held.value()
        self._held.update((value if box is None else self._reduce(box[0], value),))

    def clear(self) -> None:
        self._held.clear()


class TableAggregatingState(AggregatingState[Any, Any]):
    """Keeps the accumulator."""

    def __init__(self, held: TableValueState, function: AggregateFunction) -> None:
        self._held = held
        self._function = function

    def get(self) -> Any:
        box = self._held.value()
        return None if box is None else self._function.get_result(box[0])

    def add(self, value: Any) -> None:
        box = self._held.value()
        accumulator = self._function.create_accumulator() if box is None else box[0]
        self._held.update((self._function.add(value, accumulator),))

    def clear(self) -> None:
        self._held.clear()
