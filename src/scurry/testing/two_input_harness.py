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
from scurry.runtime.make_operator import MakeOperator
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
        _check(function, key_selector1, key_selector2)
        self._select2 = key_selector2
        make = _operator_of(function, key_selector1 is not None, tuple(broadcast_states))
        self._prepare(make, type(function).__name__, key_selector1, max_parallelism)

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
        batch = self._single(value, timestamp, select)
        self._operator.process_ports(batch, np.array([port], dtype=np.int64))


def _check(function: Any, select1: Any, select2: Any) -> None:
    name = type(function).__name__
    if not isinstance(function, (*_KEYED, *_BROADCAST, CoProcessFunction)):
        raise ProgramError(f"This harness runs functions of two inputs, not {name}.")
    both = not isinstance(function, _BROADCAST)
    if isinstance(function, _KEYED) and (select1 is None or (both and select2 is None)):
        needs = "two key selectors" if both else "a key selector"
        raise ProgramError(f"{name} is keyed: give the harness {needs}.")


def _operator_of(
    function: Any, keyed: bool, states: tuple[MapStateDescriptor, ...]
) -> MakeOperator:
    if isinstance(function, KeyedBroadcastProcessFunction):
        return MakeOperator(KeyedBroadcastProcessOperator, (function, states))
    if isinstance(function, BroadcastProcessFunction):
        return MakeOperator(BroadcastProcessOperator, (function, states))
    return MakeOperator(KeyedCoProcessOperator if keyed else CoProcessOperator, (function,))
