"""Operators with a broadcast input: every slot is given all of its elements, in the same order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np

from scurry.common.copies import own
from scurry.common.errors import ProgramError
from scurry.common.keys import thaw
from scurry.functions.broadcast import (
    BroadcastContext,
    BroadcastTimerContext,
    KeyedBroadcastContext,
    ReadOnlyBroadcastContext,
)
from scurry.functions.contexts import TimerService
from scurry.functions.output_tag import OutputTag
from scurry.runtime.batch import Batch, Longs
from scurry.runtime.keyed import KeyedFunctionOperator
from scurry.runtime.keyed_batches import BatchedCalls
from scurry.runtime.keyed_context import KeyedContext, KeyedTimerService
from scurry.runtime.keyed_state import KeyedRuntimeContext, store_of
from scurry.runtime.operator import Clock, by_port
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.stateless import PlainContext, ProcessOperator
from scurry.runtime.task_context import TaskContext
from scurry.state.layout import StateLayout
from scurry.state.slot_store import SlotStore
from scurry.state.states import (
    BroadcastState,
    MapStateDescriptor,
    ReadOnlyBroadcastState,
    StateDescriptor,
    refuse_queryable,
)
from scurry.state.tables.broadcast_table import (
    BROADCAST_STATES,
    BroadcastTable,
    TableBroadcastState,
    TableReadOnlyBroadcastState,
)
from scurry.state.tables.key_scope import NO_KEY_IN_BROADCAST, KeyScope

#: The parameter of layouts that names the states.
BROADCAST = "broadcast states"


def broadcast_table(store: SlotStore, uid: str, state: str) -> BroadcastTable:
    """The slot's table for the broadcast state ``state`` of operator ``uid``."""
    name = f"{uid}\x1f{BROADCAST_STATES}\x1f{state}"
    return store.part(name, lambda: BroadcastTable(name, store.reader))


def _with_broadcast(layout: StateLayout, descriptors: Sequence[MapStateDescriptor]) -> StateLayout:
    names = ", ".join(sorted(descriptor.name for descriptor in descriptors))
    return msgspec.structs.replace(layout, parameters={BROADCAST: names})


class BroadcastStates:
    """The broadcast states of one operator and slot, by descriptor."""

    def __init__(
        self, spec: OperatorSpec, task: TaskContext, descriptors: Sequence[MapStateDescriptor]
    ) -> None:
        self._operator = spec.name
        for descriptor in descriptors:
            refuse_queryable(descriptor, spec.name, "broadcast state")
        tables = {d.name: broadcast_table(store_of(task), spec.uid, d.name) for d in descriptors}
        #: by name, for the side that is not broadcast
        self.by_name = {name: TableReadOnlyBroadcastState(tables[name]) for name in tables}
        self._writable = {name: TableBroadcastState(tables[name]) for name in tables}

    def writable(self, descriptor: MapStateDescriptor) -> TableBroadcastState:
        """The state for the broadcast side."""
        try:
            return self._writable[descriptor.name]
        except (KeyError, AttributeError):
            raise self.unknown(descriptor) from None

    def unknown(self, descriptor: Any) -> ProgramError:
        """The error for a state that the stream was not broadcast with."""
        known = ", ".join(map(repr, sorted(self.by_name)))
        return ProgramError(
            f"{self._operator!r} asked for the broadcast state {descriptor!r}, but the stream was "
            f"broadcast with {known}. Give its descriptor to broadcast(...) too."
        )


class Reading:
    """What the contexts of the input that is not broadcast have in addition: broadcast state to
    read, and the clocks."""

    _states: BroadcastStates
    timer_service: Callable[[], TimerService]

    def get_broadcast_state(
        self, state_descriptor: MapStateDescriptor
    ) -> ReadOnlyBroadcastState[Any, Any]:
        # once per event in most programs, hence no call in between
        try:
            return self._states.by_name[state_descriptor.name]
        except (KeyError, AttributeError):
            raise self._states.unknown(state_descriptor) from None

    def current_processing_time(self) -> int:
        return self.timer_service().current_processing_time()

    def current_watermark(self) -> int:
        return self.timer_service().current_watermark()


class PlainReadingContext(Reading, PlainContext, ReadOnlyBroadcastContext):
    """Context of elements without keys."""

    def __init__(self, clock: Clock, states: BroadcastStates) -> None:
        super().__init__(clock)
        self._states = states


class KeyedReadingContext(Reading, KeyedContext, BroadcastTimerContext):
    """Context of the elements and timers of keys."""

    def __init__(self, scope: KeyScope, timers: KeyedTimerService, states: BroadcastStates) -> None:
        super().__init__(scope, timers)
        self._states = states


class WritingContext(BroadcastContext):
    """Context of the broadcast input. Clocks, timestamp and side outputs it takes from the context
    of the other input; writing broadcast state is its own."""

    def __init__(
        self, other: PlainReadingContext | KeyedReadingContext, states: BroadcastStates
    ) -> None:
        self._other = other
        self._states = states

    def timestamp(self) -> int | None:
        return self._other.timestamp()

    def current_processing_time(self) -> int:
        return self._other.current_processing_time()

    def current_watermark(self) -> int:
        return self._other.current_watermark()

    def output(self, tag: OutputTag, value: Any) -> None:
        self._other.output(tag, value)

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        return self._states.writable(state_descriptor)


class KeyedWritingContext(WritingContext, KeyedBroadcastContext):
    """The same beside a keyed stream, whose keyed state it can go through."""

    def __init__(
        self,
        other: KeyedReadingContext,
        states: BroadcastStates,
        keyed: KeyedRuntimeContext,
        scope: KeyScope,
    ) -> None:
        super().__init__(other, states)
        self._keyed = keyed
        self._scope = scope

    def apply_to_keyed_state(
        self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], None]
    ) -> None:
        state, scope = self._keyed.state_of(state_descriptor), self._scope
        try:
            for key in self._keyed.keys_with(state_descriptor):
                scope.key = key
                function(own(thaw(key)), state)
        finally:
            scope.key = NO_KEY_IN_BROADCAST


class BroadcastProcessOperator(ProcessOperator):
    """Runs a :class:`BroadcastProcessFunction`; the broadcast stream is input 1."""

    two_inputs = True

    def __init__(
        self, spec: OperatorSpec, function: Any, descriptors: Sequence[MapStateDescriptor]
    ) -> None:
        super().__init__(spec, function)
        self._descriptors = descriptors

    @classmethod
    def state_layout(cls, *arguments: Any) -> StateLayout:
        return _with_broadcast(super().state_layout(*arguments), arguments[1])

    def _make_context(self, context: TaskContext) -> PlainContext:
        states = BroadcastStates(self.spec, context, self._descriptors)
        reading = PlainReadingContext(self._clock, states)
        self._writing = WritingContext(reading, states)
        return reading

    def process_ports(self, batch: Batch, ports: Longs) -> None:
        self._run(
            batch, by_port(ports, self.function.process_element, self.process_broadcast_element)
        )

    def process_broadcast_element(self, value: Any, context: Any) -> Any:
        """Hand an element of the broadcast stream to the function."""
        return self.function.process_broadcast_element(value, self._writing)


class KeyedBroadcastProcessOperator(KeyedFunctionOperator):
    """Runs a :class:`KeyedBroadcastProcessFunction`; the broadcast stream is input 1."""

    two_inputs = True

    def __init__(
        self, spec: OperatorSpec, function: Any, descriptors: Sequence[MapStateDescriptor]
    ) -> None:
        super().__init__(spec, function)
        self._descriptors = descriptors

    @classmethod
    def state_layout(cls, *arguments: Any) -> StateLayout:
        return _with_broadcast(super().state_layout(*arguments), arguments[1])

    def _make_context(self) -> KeyedContext:
        states = BroadcastStates(self.spec, self.context, self._descriptors)
        reading = KeyedReadingContext(self._scope, self._timers, states)
        self._writing = KeyedWritingContext(reading, states, self._state, self._scope)
        return reading

    def process_ports(self, batch: Batch, ports: Longs) -> None:
        if batch.keys is None:
            batch = batch.alias()
            batch.keys = [None] * batch.size
        if self._batches is not None:
            self._process_batches(self._batches, batch, ports)
            return
        self._run(
            batch, by_port(ports, self._function.process_element, self.process_broadcast_element)
        )

    def _process_batches(self, batches: BatchedCalls, batch: Batch, ports: Longs) -> None:
        """Give the function the records between two of the broadcast stream as batches."""
        begin = 0
        for at in [*np.flatnonzero(ports).tolist(), batch.size]:
            if begin < at:
                batches.process(batch.take(np.arange(begin, at)))
            if at < batch.size:
                if batch.wm is not None:
                    self.advance(int(batch.wm[at]))
                self._run(batch.take(np.array([at])), [self.process_broadcast_element])
            begin = at + 1

    def process_broadcast_element(self, value: Any, context: Any) -> Any:
        """Hand an element of the broadcast stream to the function."""
        self._scope.key = NO_KEY_IN_BROADCAST
        return self._function.process_broadcast_element(value, self._writing)
