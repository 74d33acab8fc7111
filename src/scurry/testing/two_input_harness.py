"""One function of two inputs on a virtual clock, like :class:`OperatorHarness`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scurry.common.errors import ProgramError
from scurry.functions.broadcast import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from scurry.functions.co_process import CoProcessFunction, KeyedCoProcessFunction
from scurry.functions.transforms import Function
from scurry.runtime.broadcast import BroadcastProcessOperator, KeyedBroadcastProcessOperator
from scurry.runtime.keyed import KeyedCoProcessOperator
from scurry.runtime.operator import Operator
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.stateless import CoProcessOperator
from scurry.state.states import MapStateDescriptor
from scurry.testing.operator_harness import OperatorHarness

_KEYED = (KeyedCoProcessFunction, KeyedBroadcastProcessFunction)
_BROADCAST = (BroadcastProcessFunction, KeyedBroadcastProcessFunction)


class TwoInputHarness(OperatorHarness):
    """Runs a co-process function, with two key selectors if it is keyed, or a broadcast process
    function, with the descriptors of its broadcast states and a key selector if it is keyed.

    >>> harness = TwoInputHarness(MyJoin(), lambda order: order.id, lambda payment: payment.order)
    >>> harness.process_element1(order, timestamp=1000)
    >>> harness.process_element2(payment, timestamp=1500)
    >>> harness.output
    """

    def __init__(
        self,
        function: Function,
        key_selector1: Callable[[Any], Any] | None = None,
        key_selector2: Callable[[Any], Any] | None = None,
        broadcast_states: Sequence[MapStateDescriptor] = (),
        max_parallelism: int = 128,
    ) -> None:
        self._select2 = key_selector2
        self._broadcast_states = tuple(broadcast_states)
        super().__init__(function, key_selector1, max_parallelism)

    def _check(self, function: Any, key_selector: Callable[[Any], Any] | None) -> None:
        name = type(function).__name__
        if not isinstance(function, (*_KEYED, *_BROADCAST, CoProcessFunction)):
            raise ProgramError(f"This harness runs functions of two inputs, not {name}.")
        both = not isinstance(function, _BROADCAST)
        if isinstance(function, _KEYED) and (
            key_selector is None or (both and self._select2 is None)
        ):
            needs = "two key selectors" if both else "a key selector"
            raise ProgramError(f"{name} is keyed: give the harness {needs}.")

    def _make_operator(self, spec: OperatorSpec, function: Any) -> Operator:
        if isinstance(function, KeyedBroadcastProcessFunction):
            return KeyedBroadcastProcessOperator(spec, function, self._broadcast_states)
        if isinstance(function, BroadcastProcessFunction):
            return BroadcastProcessOperator(spec, function, self._broadcast_states)
        keyed = self._select is not None
        return (KeyedCoProcessOperator if keyed else CoProcessOperator)(spec, function)

    def process_element1(self, value: Any, timestamp: int | None = None) -> None:
        """An element of the first stream arrives."""
        self._give(value, timestamp, 0, self._select)

    def process_element2(self, value: Any, timestamp: int | None = None) -> None:
        """An element of the second stream arrives."""
        self._give(value, timestamp, 1, self._select2)

    process_element = process_element1
    process_broadcast_element = process_element2

    def _give(
        self,
        value: Any,
        timestamp: int | None,
        port: int,
        select: Callable[[Any], Any] | None,
    ) -> None:
        batch = self._batch(value, timestamp, select)
        self._operator.process_ports(batch, np.array([port], dtype=np.int64))
