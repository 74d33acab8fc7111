"""Durable keyed state: descriptors and handles for users, stores and logs for the engine.

The truth is an append-only log of changes in Spark's state store, with one entry for each slot and
micro-batch. Reads go to a local store beside the worker (LMDB), which all Python workers of a host
share, with the decoded values of the current micro-batch in memory above it. A *lineage id*, new
with every commit and written to both, tells whether the local store is of the last commit.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from scurry.state.states import (
    AggregatingState,
    AggregatingStateDescriptor,
    AppendingState,
    BagState,
    BagStateDescriptor,
    BroadcastState,
    ListState,
    ListStateDescriptor,
    MapState,
    MapStateDescriptor,
    MergingState,
    ReadOnlyBroadcastState,
    ReducingState,
    ReducingStateDescriptor,
    SetState,
    SetStateDescriptor,
    State,
    StateDescriptor,
    ValueState,
    ValueStateDescriptor,
)
from scurry.state.ttl_config import StateTtlConfig

__all__ = [
    "AggregatingState",
    "AggregatingStateDescriptor",
    "AppendingState",
    "BagState",
    "BagStateDescriptor",
    "BroadcastState",
    "ListState",
    "ListStateDescriptor",
    "MapState",
    "MapStateDescriptor",
    "MergingState",
    "ReadOnlyBroadcastState",
    "ReducingState",
    "ReducingStateDescriptor",
    "SetState",
    "SetStateDescriptor",
    "State",
    "StateDescriptor",
    "StateTtlConfig",
    "ValueState",
    "ValueStateDescriptor",
]

#: What :mod:`scurry.state_reader` has, also to be found here.
_READING = frozenset(
    {"diff", "list_states", "read", "read_list_state", "read_timers", "read_windows"}
)


def __getattr__(name: str) -> Any:
    """``scurry.state.read`` and its like. They read checkpoints, so they are defined in a layer far
    above this one, which nothing here uses; they are looked up when a program asks for them."""
    if name in _READING:
        return getattr(import_module("scurry.state_reader"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
