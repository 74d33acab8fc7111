"""Plain callables as functions: a lambda does wherever a function class does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from scurry.common.errors import ProgramError, shorten
from scurry.common.values import Element
from scurry.functions.contexts import RuntimeContext
from scurry.functions.process import KeyedElementContext, KeyedProcessFunction
from scurry.functions.transforms import (
    FilterFunction,
    FlatMapFunction,
    Function,
    KeySelector,
    MapFunction,
    Partitioner,
    ReduceFunction,
)

F = TypeVar("F", bound=Function)


class CallableFunction(Function):
    """Stands in for a function class; the callable is its one method."""

    def __init__(self, method: str, function: Callable[..., Any]) -> None:
        setattr(self, method, function)
        self.function = function


def _adapt(given: object, kind: type, method: str, operation: str) -> object:
    if isinstance(given, kind):
        return given
    if isinstance(given, type) and issubclass(given, Function):
        raise ProgramError(
            f"{operation} was given the class {given.__name__} itself; pass an instance: "
            f"{given.__name__}()."
        )
    if callable(given) and not isinstance(given, Function):
        return CallableFunction(method, given)
    raise ProgramError(
        f"{operation} needs a callable or a {kind.__name__}, got {shorten(given)} "
        f"({type(given).__name__})."
    )


def map_function(given: object) -> MapFunction:
    """What ``map`` was given, as a :class:`MapFunction`."""
    return cast(MapFunction, _adapt(given, MapFunction, "map", "map"))


def flat_map_function(given: object) -> FlatMapFunction:
    """What ``flat_map`` was given, as a :class:`FlatMapFunction`."""
    return cast(FlatMapFunction, _adapt(given, FlatMapFunction, "flat_map", "flat_map"))


def filter_function(given: object) -> FilterFunction:
    """What ``filter`` was given, as a :class:`FilterFunction`."""
    return cast(FilterFunction, _adapt(given, FilterFunction, "filter", "filter"))


def reduce_function(given: object) -> ReduceFunction:
    """What ``reduce`` was given, as a :class:`ReduceFunction`."""
    return cast(ReduceFunction, _adapt(given, ReduceFunction, "reduce", "reduce"))


def key_selector(given: object) -> KeySelector:
    """What ``key_by`` was given, as a :class:`KeySelector`."""
    return cast(KeySelector, _adapt(given, KeySelector, "get_key", "key_by"))


def partitioner(given: object) -> Partitioner:
    """What ``partition_custom`` was given, as a :class:`Partitioner`."""
    return cast(Partitioner, _adapt(given, Partitioner, "partition", "partition_custom"))


def user_callable(function: Function, method: str) -> Callable[..., Any]:
    """The code the user wrote behind ``function``, for reading its annotations."""
    return cast(Callable[..., Any], getattr(function, method))


def window_function(given: object, kinds: tuple[type[F], ...], operation: str) -> F:
    """What a window operation was given, if it is an instance of one of ``kinds``."""
    if isinstance(given, kinds):
        return given
    names = " or ".join(f"{_article(kind.__name__)} {kind.__name__}" for kind in kinds)
    if isinstance(given, type) and issubclass(given, Function):
        raise ProgramError(
            f"{operation} was given the class {given.__name__} itself; pass an instance: "
            f"{given.__name__}()."
        )
    raise ProgramError(f"{operation} needs {names}, got {shorten(given)} ({type(given).__name__}).")


def _article(name: str) -> str:
    return "an" if name[0] in "AEIOU" else "a"


class KeyedMap(KeyedProcessFunction):
    """A map on a keyed stream: a process function, so that the map may use keyed state."""

    def __init__(self, function: Any) -> None:
        self.function: Any = function

    def open(self, runtime_context: RuntimeContext) -> None:
        self.function.open(runtime_context)

    def close(self) -> None:
        self.function.close()

    def process_element(self, value: Element, ctx: KeyedElementContext) -> Iterable[object]:
        return (self.function.map(value),)


class KeyedFlatMap(KeyedMap):
    """A flat map on a keyed stream."""

    def process_element(self, value: Element, ctx: KeyedElementContext) -> Iterable[object]:
        result: Iterable[object] | None = self.function.flat_map(value)
        return () if result is None else result


class KeyedFilter(KeyedMap):
    """A filter on a keyed stream."""

    def process_element(self, value: Element, ctx: KeyedElementContext) -> Iterable[object]:
        return (value,) if self.function.filter(value) else ()
