"""Descriptors of states refuse, when they are made, functions that could not work."""

from __future__ import annotations

import pytest

from scurry.common import Types
from scurry.common.errors import ProgramError
from scurry.datastream.state import AggregatingStateDescriptor, ReducingStateDescriptor


def test_a_reducing_state_needs_a_function() -> None:
    with pytest.raises(ProgramError, match=r"'total' needs a ReduceFunction, .* got 5"):
        ReducingStateDescriptor("total", 5, Types.INT())


def test_an_aggregating_state_needs_an_aggregate_function() -> None:
    with pytest.raises(ProgramError, match=r"'mean' needs an AggregateFunction, got <built-in"):
        AggregatingStateDescriptor("mean", max, Types.INT())
