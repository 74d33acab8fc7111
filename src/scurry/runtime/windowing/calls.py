"""From what a window holds to the call of the user's function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from scurry.common.keys import thaw
from scurry.functions.transforms import AggregateFunction
from scurry.functions.windows import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from scurry.runtime.windowing.contexts import FiringContext
from scurry.state.tables.table import MISSING
from scurry.windowing.spec import WindowSpec

#: Called with the key, the window and the window's contents; returns what goes downstream.
Call = Callable[[Any, Any, Any], Iterable[Any] | None]


def call_for(spec: WindowSpec, context: FiringContext, own: Callable[[Any], Any]) -> Call:
    """How the windows of ``spec`` call the user's function. ``own`` keeps what the function gets
    apart from what the window goes on with, where only this module knows the difference."""
    call = _with_elements(spec.function, context, own)
    if spec.incremental is None:
        return lambda key, window, elements: call(key, window, list(elements))
    if spec.evictor is not None:
        combine = _combiner(spec)
        return lambda key, window, elements: call(key, window, combine(elements))
    if isinstance(spec.incremental, AggregateFunction):
        result = spec.incremental.get_result
        if spec.function is None:
            return lambda key, window, value: (result(value),)
        # an accumulator may be its own result
        return lambda key, window, value: call(key, window, (own(result(value)),))
    return lambda key, window, value: call(key, window, (value,))


def _with_elements(function: Any, context: FiringContext, own: Callable[[Any], Any]) -> Call:
    if function is None:
        return lambda key, window, elements: elements
    if isinstance(function, ProcessWindowFunction):
        process = function.process
        return lambda key, window, elements: process(own(thaw(key)), context, elements)
    if isinstance(function, ProcessAllWindowFunction):
        process_all = function.process
        return lambda key, window, elements: process_all(context, elements)
    if isinstance(function, WindowFunction):
        apply = function.apply
        return lambda key, window, elements: apply(own(thaw(key)), window, elements)
    assert isinstance(function, AllWindowFunction)
    apply_all = function.apply
    return lambda key, window, elements: apply_all(window, elements)


def _combiner(spec: WindowSpec) -> Callable[[list[Any]], tuple[Any, ...]]:
    """Combines what an evictor left of a window's elements: one value, or none if none is left."""
    function: Any = spec.incremental
    if hasattr(function, "create_accumulator"):

        def aggregate(elements: list[Any]) -> tuple[Any, ...]:
            accumulator = function.create_accumulator()
            for element in elements:
                accumulator = function.add(element, accumulator)
            return (function.get_result(accumulator),)

        return aggregate

    def reduce(elements: list[Any]) -> tuple[Any, ...]:
        if not elements:
            return ()
        reduced = elements[0]
        for element in elements[1:]:
            reduced = function.reduce(reduced, element)
        return (reduced,)

    return reduce


def combining(windowing: WindowSpec) -> Callable[[Any, Any], Any]:
    """How to combine an element into what is held."""
    function: Any = windowing.incremental
    if windowing.contents == "reduce":
        reduce = function.reduce
        return lambda held, value: value if held is MISSING else reduce(held, value)
    create, add = function.create_accumulator, function.add
    return lambda held, value: add(value, create() if held is MISSING else held)


def merging(windowing: WindowSpec) -> Callable[[Any, Any], Any]:
    """How to combine what two parts of a window hold."""
    function: Any = windowing.incremental
    found: Callable[[Any, Any], Any]
    found = function.merge if windowing.contents == "aggregate" else function.reduce
    return found


def overrides_clear(function: Any) -> bool:
    """Whether a window function with a context has a ``clear`` of its own."""
    own = type(function).clear
    return own is not ProcessWindowFunction.clear and own is not ProcessAllWindowFunction.clear
