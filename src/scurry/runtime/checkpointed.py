"""Running functions that keep operator state.

In a stage the state of an operator lies in the slot's store. In the ingress, whose tasks run in any
worker, the state comes with the plan of a micro-batch and goes back to the driver with the task's
report. Union lists go to the driver from stages too, because an instance that is made anew is given
the lists of all instances.

An instance lives on in its worker between micro-batches. If another worker has run its task in the
meantime, the state in the instance's fields is out of date. The host or ingress task that holds it
is then thrown away, and made anew from the stored state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from scurry.common.errors import ProgramError
from scurry.functions.checkpointed import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    OperatorStateStore,
)
from scurry.functions.contexts import KeyedStateStore
from scurry.state.operator_state import (
    BROADCAST,
    SPLIT,
    UNION,
    Encoded,
    OperatorTable,
    decode_state,
    encode_state,
)
from scurry.state.slot_store import SlotStore
from scurry.state.states import (
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapStateDescriptor,
    StateDescriptor,
    refuse_queryable,
)

#: The table of the operator states of an operator.
OPERATOR_STATES = "#operator"


def checkpointed(function: Any) -> CheckpointedFunction | None:
    """The function with operator state that ``function`` is or, as an adapter, wraps."""
    if isinstance(function, CheckpointedFunction):
        return function
    inner = getattr(function, "function", None)
    return inner if isinstance(inner, CheckpointedFunction) else None


@dataclass
class OperatorStates:
    """The operator states of a task: where they come from and where they go."""

    #: the slot's store, None in the ingress
    store: SlotStore | None = None
    #: in the ingress: the states by operator
    held: dict[str, Encoded] = field(default_factory=dict)
    #: the union lists of all instances, by operator
    unions: dict[str, list[Encoded]] = field(default_factory=dict)
    #: this task's union lists, by operator
    own_unions: dict[str, Encoded] = field(default_factory=dict)

    def load(self, uid: str) -> Encoded:
        """The states of an operator, with the union lists of all instances."""
        found = dict(self.held.get(uid, {}) if self.store is None else self._table(uid).load())
        for name in {name for instance in self.unions.get(uid, ()) for name in instance}:
            parts = [decode_state(i[name])[1] for i in self.unions[uid] if name in i]
            found[name] = encode_state(UNION, [value for part in parts for value in part])
        return found

    def save(self, uid: str, states: Encoded) -> None:
        """What an operator's states are at the end of a micro-batch."""
        unions = {name: data for name, data in states.items() if decode_state(data)[0] == UNION}
        own = {name: data for name, data in states.items() if name not in unions}
        if unions:
            self.own_unions[uid] = unions
        if self.store is None:
            self.held[uid] = own
        else:
            self._table(uid).save(own)

    def _table(self, uid: str) -> OperatorTable:
        store, name = self.store, f"{uid}\x1f{OPERATOR_STATES}"
        assert store is not None
        return store.part(name, lambda: OperatorTable(name, store.local))


class HeldListState(ListState[Any]):
    """A list in memory; it is written as a whole."""

    def __init__(self, values: Iterable[Any]) -> None:
        self.content = list(values)

    def get(self) -> list[Any]:
        return list(self.content)

    def add(self, value: Any) -> None:
        self.content.append(value)

    def add_all(self, values: list[Any]) -> None:
        self.content.extend(values)

    def update(self, values: list[Any]) -> None:
        self.content = list(values)

    def clear(self) -> None:
        self.content = []


class HeldBroadcastState(BroadcastState[Any, Any]):
    """A map in memory; it is written as a whole."""

    def __init__(self, values: dict[Any, Any]) -> None:
        self.content = dict(values)

    def get(self, key: Any) -> Any:
        return self.content.get(key)

    def contains(self, key: Any) -> bool:
        return key in self.content

    def items(self) -> Iterable[tuple[Any, Any]]:
        return list(self.content.items())

    def keys(self) -> Iterable[Any]:
        return list(self.content)

    def values(self) -> Iterable[Any]:
        return list(self.content.values())

    def is_empty(self) -> bool:
        return not self.content

    def put(self, key: Any, value: Any) -> None:
        self.content[key] = value

    def put_all(self, dict_value: dict[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        self.content.update(dict_value)

    def remove(self, key: Any) -> None:
        self.content.pop(key, None)

    def clear(self) -> None:
        self.content = {}


class HeldStateStore(OperatorStateStore):
    """The states one instance has registered."""

    def __init__(self, operator: str, restored: Encoded) -> None:
        self._operator = operator
        self._restored = restored
        self._modes: dict[str, str] = {}
        self._states: dict[str, Any] = {}

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        held: ListState[Any] = self._register(
            state_descriptor, ListStateDescriptor, SPLIT, HeldListState, ()
        )
        return held

    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        held: ListState[Any] = self._register(
            state_descriptor, ListStateDescriptor, UNION, HeldListState, ()
        )
        return held

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        held: BroadcastState[Any, Any] = self._register(
            state_descriptor, MapStateDescriptor, BROADCAST, HeldBroadcastState, {}
        )
        return held

    def _register(
        self, descriptor: Any, kind: type[StateDescriptor], mode: str, make: Any, empty: Any
    ) -> Any:
        if not isinstance(descriptor, kind):
            raise ProgramError(
                f"{self._operator!r} asked for operator state with {descriptor!r} where a "
                f"{kind.__name__} is needed."
            )
        refuse_queryable(descriptor, self._operator, "operator state")
        name = descriptor.name
        stored = self._restored.get(name)
        before, content = (mode, empty) if stored is None else decode_state(stored)
        for known in (self._modes.get(name, mode), before):
            if known != mode:
                raise ProgramError(
                    f"{self._operator!r} asks for the operator state {name!r} as {mode}, but it is "
                    f"kept as {known}; give each state its own name."
                )
        if name not in self._states:
            self._modes[name] = mode
            self._states[name] = make(content)
        return self._states[name]

    def encoded(self) -> Encoded:
        """All states, those that were restored and not asked for again included."""
        fresh = {
            name: encode_state(self._modes[name], state.content)
            for name, state in self._states.items()
        }
        kept = {
            name: data for name, data in self._restored.items() if decode_state(data)[0] != UNION
        }
        return {**kept, **fresh}


class InstanceCheckpoint(FunctionInitializationContext, FunctionSnapshotContext):
    """The operator state of one instance of a function, and both contexts it is given."""

    def __init__(
        self,
        name: str,
        uid: str,
        function: CheckpointedFunction,
        states: OperatorStates,
        keyed: KeyedStateStore | None,
    ) -> None:
        self._name = name
        self._uid = uid
        self._function = function
        self._states = states
        self._keyed = keyed
        self._restored = states.load(uid)
        self._store = HeldStateStore(name, self._restored)
        self._batch = self._now = 0

    def initialize(self) -> None:
        """Give the function its states."""
        self._function.initialize_state(self)

    def snapshot(self, batch: int, now: int) -> None:
        """Have the function bring its states up to date, and keep them."""
        self._batch, self._now = batch, now
        self._function.snapshot_state(self)
        self._states.save(self._uid, self._store.encoded())

    def is_restored(self) -> bool:
        return bool(self._restored)

    def get_operator_state_store(self) -> OperatorStateStore:
        return self._store

    def get_keyed_state_store(self) -> KeyedStateStore:
        if self._keyed is None:
            raise ProgramError(
                f"{self._name!r} asked for keyed state, but does not run on a keyed stream. Call "
                "key_by(...) before it."
            )
        return self._keyed

    def get_checkpoint_id(self) -> int:
        return self._batch

    def get_checkpoint_timestamp(self) -> int:
        return self._now
