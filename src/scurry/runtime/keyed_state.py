"""Keyed state for functions: from a descriptor to a handle on the slot's tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from scurry.common.copies import own
from scurry.common.errors import ProgramError
from scurry.common.pickling import dumps_whole
from scurry.functions.adapters import reduce_function
from scurry.functions.contexts import RuntimeContext
from scurry.functions.transforms import AggregateFunction
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext
from scurry.state.codecs.encoding import NULL
from scurry.state.feeds import QueryableState
from scurry.state.slot_store import SlotStore
from scurry.state.states import (
    AggregatingState,
    AggregatingStateDescriptor,
    BagState,
    BagStateDescriptor,
    ListState,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingState,
    ReducingStateDescriptor,
    SetState,
    SetStateDescriptor,
    State,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from scurry.state.tables.key_scope import KeyScope
from scurry.state.tables.list_table import ListTable
from scurry.state.tables.map_table import MapTable, TableMapState
from scurry.state.tables.set_state import ListedBagState, MappedSetState
from scurry.state.tables.table import StateTable, TableValueState, address
from scurry.state.tables.ttl import Expiry, StateClock, Sweeper
from scurry.state.tables.typed_states import list_state, map_state, value_state
from scurry.state.ttl_config import StateTtlConfig

D = TypeVar("D", bound=StateDescriptor)
T = TypeVar("T")
#: How the names of tables begin that operators keep for themselves.
OWN = "#"


def store_of(task: TaskContext) -> SlotStore:
    """The state of the task's slot."""
    assert task.state.store is not None, "keyed operators run in stages, which have a store"
    return task.state.store


class KeyedRuntimeContext(RuntimeContext):
    """The runtime context of a function on a keyed stream."""

    def __init__(
        self,
        spec: OperatorSpec,
        task: TaskContext,
        scope: KeyScope,
        clock: StateClock | None = None,
        space: str = "",
        announced: bool = True,
    ) -> None:
        """``space`` keeps apart states of the same name, such as a window's and its key's;
        ``announced`` says that the store is told the keys of a micro-batch before any is handled.
        """
        super().__init__(
            spec.name,
            spec.uid,
            task.place.index,
            spec.parallelism,
            task.place.max_parallelism,
            task.place.parameters,
            task.report.metrics.group(spec),
        )
        self._scope = scope
        self._store = store_of(task)
        self._space = space
        self._announced = announced
        self._has_event_time = clock is not None
        self._clock = clock or StateClock(lambda: task.now, _no_event_time, _no_event_time)
        self._kinds: dict[str, type] = {}

    @property
    def used(self) -> bool:
        """Whether the function has any state."""
        return bool(self._kinds)

    def _check(self, descriptor: Any, kind: type[D]) -> D:
        if not isinstance(descriptor, kind):
            raise ProgramError(
                f"Operator {self.get_task_name()!r} asked for state with {descriptor!r} where a "
                f"{kind.__name__} is needed."
            )
        if not self._space and descriptor.name.startswith(OWN):
            raise ProgramError(
                f"Operator {self.get_task_name()!r} uses the state name {descriptor.name!r}; names "
                f"that begin with {OWN!r} are those of tables that operators keep for themselves."
            )
        known = self._kinds.setdefault(descriptor.name, kind)
        if known is not kind:
            raise ProgramError(
                f"Operator {self.get_task_name()!r} uses the state name {descriptor.name!r} for a "
                f"{known.__name__} and for a {kind.__name__}; give each state its own name."
            )
        return descriptor

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState[Any]:
        return self._value(self._check(state_descriptor, ValueStateDescriptor))

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        return self._list(self._check(state_descriptor, ListStateDescriptor))

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> TableMapState:
        return self._map(self._check(state_descriptor, MapStateDescriptor))

    def own_map_state(self, name: str) -> TableMapState:
        """A state that the operator keeps for itself, beside those of its function."""
        self._kinds[name] = MapStateDescriptor
        return self._map(MapStateDescriptor(name))

    def get_set_state(self, state_descriptor: SetStateDescriptor) -> SetState[Any]:
        return MappedSetState(self._map(self._check(state_descriptor, SetStateDescriptor)))

    def get_bag_state(self, state_descriptor: BagStateDescriptor) -> BagState[Any]:
        return ListedBagState(self._list(self._check(state_descriptor, BagStateDescriptor)))

    def _open(self, descriptor: StateDescriptor, make: Callable[..., T]) -> tuple[T, Expiry | None]:
        """The table of a state, and what tells when its entries expire."""
        store, name = self._store, f"{self._uid}\x1f{self._space}{descriptor.name}"

        def first() -> Any:
            self._declare(name, descriptor)
            codec = store.schemas.open(name, descriptor)
            sweeper = self._sweeper(name, descriptor) if codec.stamped else None
            made = make(name, store.records, store.max_parallelism, codec=codec, sweeper=sweeper)
            if sweeper is not None:
                store.sweepers[name] = sweeper
            return made

        table: Any = store.part(name, first)
        return table, None if table.sweeper is None else table.sweeper.expiry

    def _declare(self, name: str, descriptor: StateDescriptor) -> None:
        """Let the state be queried, if its descriptor says so."""
        if descriptor.queryable_name is None:
            return
        if self._space:
            raise ProgramError(
                f"State {descriptor.name!r} of operator {self.get_task_name()!r} belongs to single "
                "windows and cannot be queried. What the windows hold can: call set_queryable of "
                "the windowed stream, as in stream.window(...).set_queryable('name')."
            )
        if self._store.feed is not None:
            self._store.feed.declare(queryable_state(name, self.get_task_name(), descriptor))

    def _sweeper(self, name: str, descriptor: StateDescriptor) -> Sweeper:
        config, schemas = descriptor.ttl_config, self._store.schemas
        assert config is not None
        if config.by_event_time and not self._has_event_time:
            raise ProgramError(
                f"State {descriptor.name!r} of operator {self.get_task_name()!r} has a time to "
                "live in event time, which this kind of operator cannot measure. Use processing "
                "time, or a KeyedProcessFunction."
            )
        expiry = Expiry(
            config,
            self._clock,
            since=lambda: schemas.since(name),
            begin=lambda since: schemas.begin(name, since),
        )
        return Sweeper(name, self._store.records, expiry)

    def _value(self, descriptor: StateDescriptor) -> TableValueState:
        table, expiry = self._open(
            descriptor, partial(StateTable, cache=self._store.cache, bulk=True)
        )
        return value_state(table, self._scope, expiry)

    def _list(self, descriptor: StateDescriptor) -> ListState[Any]:
        store = self._store
        bulk = self._announced
        make = partial(ListTable, epoch=lambda: store.epoch, cache=store.cache, bulk=bulk)
        table, expiry = self._open(descriptor, make)
        return list_state(table, self._scope, expiry)

    def _map(self, descriptor: StateDescriptor) -> TableMapState:
        entries = descriptor.value_type
        if isinstance(descriptor, MapStateDescriptor):
            entries = descriptor.key_type_info
        bulk = self._announced
        make = partial(MapTable, cache=self._store.cache, entries=entries, bulk=bulk)
        table, expiry = self._open(descriptor, make)
        return map_state(table, self._scope, expiry)

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
            SetStateDescriptor: self.get_set_state,
            BagStateDescriptor: self.get_bag_state,
            ReducingStateDescriptor: self.get_reducing_state,
            AggregatingStateDescriptor: self.get_aggregating_state,
        }

    def keys_with(self, descriptor: StateDescriptor) -> list[Any]:
        """All keys of the slot that have the state, in an order that depends on them alone."""
        self.state_of(descriptor)
        table = self._store.listed(self._uid, descriptor.name)
        groups = self._store.max_parallelism
        return sorted((key for key, _ in table.items()), key=lambda key: address(key, groups))


def queryable_state(table: str, operator: str, descriptor: StateDescriptor) -> QueryableState:
    """What a view has to know of a state, kept in ``table``, to answer queries."""
    assert descriptor.queryable_name is not None
    uid, ttl = table.partition("\x1f")[0], descriptor.ttl_config
    visibility = StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
    return QueryableState(
        *(descriptor.queryable_name, uid, operator, (table,)),
        kind=type(descriptor).__name__.removesuffix("Descriptor"),
        shows_expired=ttl is not None and ttl.get_state_visibility() is visibility,
        program=dumps_whole(descriptor)
        if isinstance(descriptor, AggregatingStateDescriptor)
        else b"",
    )


class TableReducingState(ReducingState[Any]):
    """Keeps the reduced value."""

    def __init__(self, held: TableValueState, reduce: Any) -> None:
        self._held = held
        self._reduce = reduce

    def get(self) -> Any:
        return _shown(self._held.value())

    def add(self, value: Any) -> None:
        held = self._held.value()
        # the first value is what later ones are reduced into; the user's own stays as it is
        self._held.update(_kept(own(value) if held is None else self._reduce(_shown(held), value)))

    def clear(self) -> None:
        self._held.clear()


class TableAggregatingState(AggregatingState[Any, Any]):
    """Keeps the accumulator."""

    def __init__(self, held: TableValueState, function: AggregateFunction) -> None:
        self._held = held
        self._function = function

    def get(self) -> Any:
        held = self._held.value()
        return None if held is None else self._function.get_result(_shown(held))

    def add(self, value: Any) -> None:
        held = self._held.value()
        accumulator = self._function.create_accumulator() if held is None else _shown(held)
        self._held.update(_kept(self._function.add(value, accumulator)))

    def restore(self, accumulator: Any) -> None:
        """Make ``accumulator`` what was aggregated so far."""
        self._held.update(_kept(accumulator))

    def clear(self) -> None:
        self._held.clear()


def _kept(value: Any) -> Any:
    return NULL if value is None else value


def _shown(held: Any) -> Any:
    return None if held is NULL else held


def _no_event_time() -> None:
    return None
