"""From what a window holds to the call of the user's function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from scurry.common.keys import thaw
from scurry.common.values import Combine, Combined, Contents, Element, Key, Merge, Own
from scurry.functions.transforms import AggregateFunction, Function
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
Call = Callable[[Key, Any, Contents], Iterable[object] | None]


def call_for(spec: WindowSpec, context: FiringContext, own: Own) -> Call:
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


def _with_elements(function: Function | None, context: FiringContext, own: Own) -> Call:
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


def _combiner(spec: WindowSpec) -> Callable[[list[Element]], tuple[Combined, ...]]:
    """Combines what an evictor left of a window's elements: one value, or none if none is left."""
    function = spec.incremental
    assert function is not None
    if isinstance(function, AggregateFunction):
        create, add, result = function.create_accumulator, function.add, function.get_result

        def aggregate(elements: list[Element]) -> tuple[Combined, ...]:
            accumulator = create()
            for element in elements:
                accumulator = add(element, accumulator)
            return (result(accumulator),)

        return aggregate

    combine = function.reduce

    def reduce(elements: list[Element]) -> tuple[Combined, ...]:
        if not elements:
            return ()
        reduced = elements[0]
        for element in elements[1:]:
            reduced = combine(reduced, element)
        return (reduced,)

    return reduce


def combining(windowing: WindowSpec) -> Combine:
    """How to combine an element into what is held."""
    function = windowing.incremental
    assert function is not None
    if not isinstance(function, AggregateFunction):
        reduce = function.reduce
        return lambda held, value: value if held is MISSING else reduce(held, value)
    create, add = function.create_accumulator, function.add
    return lambda held, value: add(value, create() if held is MISSING else held)


def merging(windowing: WindowSpec) -> Merge:
    """How to combine what two parts of a window hold."""
    function = windowing.incremental
    assert function is not None
    return function.merge if isinstance(function, AggregateFunction) else function.reduce


def overrides_clear(function: object) -> bool:
    """Whether a window function with a context has a ``clear`` of its own."""
    own = getattr(type(function), "clear", None)
    return own is not ProcessWindowFunction.clear and own is not ProcessAllWindowFunction.clear
