"""Stateless and rolling functions. Each may also be given as a plain callable or lambda."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from scurry.common.values import Combined, Element, Key
from scurry.functions.contexts import RuntimeContext


class Function:
    """Anything with a life cycle: ``open`` once per instance before the first element, ``close``
    after the last. An instance lives as long as its worker and slot, across micro-batches, so
    models and connections belong in ``open``."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called once, before the first element reaches this instance."""

    def close(self) -> None:
        """Called once, after the last element of a bounded job."""


class MapFunction(Function, ABC):
    """One element in, one element out."""

    @abstractmethod
    def map(self, value: Element) -> object:
        """The element that takes ``value``'s place."""


class FlatMapFunction(Function, ABC):
    """One element in, any number out."""

    @abstractmethod
    def flat_map(self, value: Element) -> Iterable[object] | None:
        """Yield, or return as an iterable, what takes ``value``'s place; None for nothing."""


class FilterFunction(Function, ABC):
    """Keeps the elements for which it is true."""

    @abstractmethod
    def filter(self, value: Element) -> bool:
        """Whether ``value`` stays in the stream."""


class ReduceFunction(Function, ABC):
    """Combines two elements of one key into one of the same type."""

    @abstractmethod
    def reduce(self, value1: Element, value2: Element) -> Element:
        """``value1`` is what has been reduced so far, ``value2`` the new element."""


class AggregateFunction(Function, ABC):
    """Aggregates elements into an accumulator, from which a result can be read at any time.

    Only windows that merge, such as sessions, need ``merge``, so many programs leave it empty. A
    class that has written it, and whose accumulators of parts, merged in order, are the accumulator
    of the whole, may set ``mergeable = True``: overlapping windows then keep one accumulator for
    each slice of time instead of one for each window, and add each element once.
    """

    mergeable: ClassVar[bool] = False

    @abstractmethod
    def create_accumulator(self) -> Combined:
        """An accumulator that nothing was added to."""

    @abstractmethod
    def add(self, value: Element, accumulator: Combined) -> Combined:
        """The accumulator with ``value`` added; it may be changed in place and returned."""

    @abstractmethod
    def get_result(self, accumulator: Combined) -> object:
        """The result so far."""

    @abstractmethod
    def merge(self, acc_a: Combined, acc_b: Combined) -> Combined:
        """One accumulator of all that was added to either."""


class KeySelector(Function, ABC):
    """Extracts the key. It must be deterministic: the same element always has the same key."""

    @abstractmethod
    def get_key(self, value: Element) -> object:
        """The key of ``value``."""


class Partitioner(Function, ABC):
    """Chooses a slot for a key, for :meth:`DataStream.partition_custom`."""

    @abstractmethod
    def partition(self, key: Key, num_partitions: int) -> int:
        """The slot, from 0 to ``num_partitions - 1``."""
