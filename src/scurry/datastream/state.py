"""State, under the module name PyFlink has for it."""

from __future__ import annotations

from scurry.state.states import State, StateDescriptor, ValueState, ValueStateDescriptor

__all__ = ["State", "StateDescriptor", "ValueState", "ValueStateDescriptor"]
