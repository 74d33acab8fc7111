"""From data to state: functions that are called for each element, and write state of its key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from scurry.common.errors import ProgramError
from scurry.functions.adapters import key_selector as as_selector
from scurry.functions.contexts import RuntimeContext, TimerService
from scurry.functions.transforms import Function


class BootstrapContext(ABC):
    """What a bootstrap function can use while it handles an element."""

    @abstractmethod
    def get_current_key(self) -> Any:
        """The key of the element."""

    @abstractmethod
    def timer_service(self) -> TimerService:
        """Registers timers, which the job that starts from the savepoint fires."""


class KeyedStateBootstrapFunction(Function):
    """Writes the state of keys: the same states, by descriptor, as the operator that will go on
    with them."""

    def open(self, runtime_context: RuntimeContext) -> None:
        """Called once, before any element; ask ``runtime_context`` for states here."""

    @abstractmethod
    def process_element(self, value: Any, ctx: BootstrapContext) -> None:
        """Called for each element, in order, with the state of its key in scope."""


@dataclass(frozen=True)
class BootstrapTransformation:
    """Data, how keys are made of it, and the function that makes state of it."""

    data: Any
    select: Callable[[Any], Any]
    function: KeyedStateBootstrapFunction
    #: processing time of the writes, in milliseconds; None for the time at which it is run
    now: int | None = None


class OperatorTransformation:
    """Where a transformation begins."""

    @staticmethod
    def bootstrap_with(data: Iterable[Any] | Any) -> OneInputOperatorTransformation:
        """Begin with ``data``: any iterable, an Arrow table or a DataFrame of pandas or Spark. Rows
        of a table become :class:`~scurry.common.Row` with the names of its columns."""
        return OneInputOperatorTransformation(data)


class OneInputOperatorTransformation:
    """Data that has no keys yet."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def key_by(self, key_selector: Any) -> KeyedOperatorTransformation:
        """Give each element the key that ``key_selector`` makes of it."""
        return KeyedOperatorTransformation(self._data, as_selector(key_selector).get_key)


class KeyedOperatorTransformation:
    """Data with keys."""

    def __init__(self, data: Any, select: Callable[[Any], Any]) -> None:
        self._data = data
        self._select = select

    def transform(
        self, function: KeyedStateBootstrapFunction, processing_time: int | None = None
    ) -> BootstrapTransformation:
        """Have ``function`` make state of the data. ``processing_time`` is what the clock shows
        meanwhile, in milliseconds since 1970; a time to live counts from it."""
        if not isinstance(function, KeyedStateBootstrapFunction):
            raise ProgramError(
                f"transform needs a KeyedStateBootstrapFunction, got {function!r}. Derive a class "
                "from it, and write states in process_element."
            )
        return BootstrapTransformation(self._data, self._select, function, processing_time)
