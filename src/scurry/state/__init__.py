"""Durable keyed state: descriptors and handles for users, stores and logs for the engine.

Truth is an append-only log of deltas in Spark's state store, one entry per slot and micro-batch.
Speed is a local LMDB beside the worker, shared by all Python workers of a host, with the decoded
values of the current batch above it. A *lineage id*, fresh with every commit and written to both,
tells whether the local copy may be believed.
"""

from __future__ import annotations

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
