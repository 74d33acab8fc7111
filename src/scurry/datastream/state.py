"""State, under the module name PyFlink has for it."""

from scurry.state.states import State, StateDescriptor, ValueState, ValueStateDescriptor

__all__ = ["State", "StateDescriptor", "ValueState", "ValueStateDescriptor"]
