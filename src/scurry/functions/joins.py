"""Functions that join two streams pair by pair."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TypeAlias

from scurry.common.values import Element
from scurry.functions.output_tag import OutputTag
from scurry.functions.transforms import Function


class JoinContext(ABC):
    """What is known about a pair."""

    @abstractmethod
    def get_left_timestamp(self) -> int:
        """The event timestamp of the left element, in milliseconds."""

    @abstractmethod
    def get_right_timestamp(self) -> int:
        """The event timestamp of the right element, in milliseconds."""

    @abstractmethod
    def get_timestamp(self) -> int:
        """The timestamp of the pair and of what is emitted for it: the later of the two."""

    @abstractmethod
    def output(self, tag: OutputTag, value: object) -> None:
        """Send ``value`` to the side output ``tag``."""


class ProcessJoinFunction(Function, ABC):
    """Processes the pairs of an interval join."""

    Context: TypeAlias = JoinContext

    @abstractmethod
    def process_element(
        self, left: Element, right: Element, ctx: JoinContext
    ) -> Iterable[object] | None:
        """Called for each pair, as soon as its second element has come; yields what goes
        downstream."""


class JoinFunction(Function, ABC):
    """Makes one result of two elements that share a key and a window."""

    @abstractmethod
    def join(self, first: Element, second: Element) -> object:
        """Called for every pair."""


class FlatJoinFunction(Function, ABC):
    """Makes any number of results of two elements that share a key and a window."""

    @abstractmethod
    def join(self, first: Element, second: Element) -> Iterable[object] | None:
        """Called for every pair; yields what goes downstream."""


class CoGroupFunction(Function, ABC):
    """Makes results of all elements that share a key and a window, from two streams."""

    @abstractmethod
    def co_group(self, first: list[Element], second: list[Element]) -> Iterable[object] | None:
        """Called once per key and window; one of the lists may be empty."""
