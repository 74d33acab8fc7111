"""Operator state: what an instance of a function keeps that belongs to no key.

A function (or a sink's writer) that is also a :class:`CheckpointedFunction` is asked for its state
at the end of every micro-batch and given it back when an instance is made anew: after a restart, or
because another worker has taken over. Typical are buffers, offsets, and counters per instance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from scurry.common.values import StateValue
from scurry.functions.contexts import KeyedStateStore
from scurry.state.states import (
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapStateDescriptor,
)


class OperatorStateStore(ABC):
    """The states of one instance, by name."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[StateValue]:
        """A list of this instance. At another parallelism the elements of all instances are dealt
        out in turn."""

    @abstractmethod
    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[StateValue]:
        """A list of this instance that, restored, holds the elements of all instances."""

    @abstractmethod
    def get_broadcast_state(
        self, state_descriptor: MapStateDescriptor
    ) -> BroadcastState[StateValue, StateValue]:
        """A map that all instances keep the same; it is on the function to do so."""


class FunctionInitializationContext(ABC):
    """Given to ``initialize_state``."""

    @abstractmethod
    def is_restored(self) -> bool:
        """Whether there is state of an earlier instance to go on from."""

    @abstractmethod
    def get_operator_state_store(self) -> OperatorStateStore:
        """Where to register states."""

    @abstractmethod
    def get_keyed_state_store(self) -> KeyedStateStore:
        """The state of keys, for functions on keyed streams."""


class FunctionSnapshotContext(ABC):
    """Given to ``snapshot_state``."""

    @abstractmethod
    def get_checkpoint_id(self) -> int:
        """The number of the micro-batch that ends."""

    @abstractmethod
    def get_checkpoint_timestamp(self) -> int:
        """The micro-batch's processing time in milliseconds."""


class CheckpointedFunction(ABC):
    """Has operator state. Inherit from it beside the kind of function (or sink writer)."""

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Called once per instance, before ``open``: register states, and take back what they
        hold if ``context.is_restored()``."""

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Called at the end of every micro-batch: bring the registered states up to date."""
