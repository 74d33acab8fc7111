"""Functions that wait: calls to services and databases, many of them at a time.

A map function that asks a service spends its time waiting, one element after the other. An
:class:`AsyncFunction` gives the waiting back: its ``async_invoke`` is a coroutine, and the engine
keeps as many of them under way as the stream's capacity allows.

An :class:`AsyncRetryStrategy` says what becomes of a call that failed, or whose answer is not good
enough: whether it is repeated, and after which pause. Attempts are counted from 1; a strategy of
three attempts repeats a call up to three times after the first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from typing import Any, Generic, TypeVar

from scurry.common.errors import ProgramError
from scurry.functions.transforms import Function

IN = TypeVar("IN")
OUT = TypeVar("OUT")
N = TypeVar("N", int, float)
#: Is given what ``async_invoke`` returned.
ResultPredicate = Callable[[Any], bool]
ExceptionPredicate = Callable[[BaseException], bool]


class AsyncFunction(Function, ABC, Generic[IN, OUT]):
    """Any number of elements for each element, awaited.

    All coroutines of an instance run in one event loop of its own, and so do ``open`` and
    ``close``, which may be coroutines themselves: connections made in ``open`` belong to the loop
    that uses them. The loop keeps turning between micro-batches.

    After a failure a micro-batch is run again, and its calls with it: a call may reach the service
    more than once, its result reaches the stream exactly once.
    """

    @abstractmethod
    async def async_invoke(self, value: IN) -> Iterable[OUT]:
        """The elements that take ``value``'s place, as a list; an empty one for none."""

    def timeout(self, value: IN) -> Iterable[OUT]:
        """Called when the time for ``value`` was up, its call having been cancelled: the elements
        to emit instead. Unless overridden it raises, and the job fails."""
        raise TimeoutError(
            "the call did not end in time; allow it more, repeat it, or override timeout() to "
            "emit something else"
        )


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """When a call is to be repeated."""

    @abstractmethod
    def result_predicate(self) -> ResultPredicate | None:
        """True for answers that are not good enough; None if all are."""

    @abstractmethod
    def exception_predicate(self) -> ExceptionPredicate | None:
        """True for failures that may pass; None if none does."""


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """Whether a call is repeated, and when. One object serves all elements of an instance."""

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Whether there may be another attempt after so many."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """The pause before the next attempt, in milliseconds, after so many."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Which outcomes are to be repeated."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy[Any]:
        """Never repeat a call."""
        return NO_RETRY_STRATEGY

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> AsyncRetryStrategy[Any]:
        """Repeat up to ``max_attempts`` times, each time after the same pause."""
        return FixedDelayRetryStrategy(
            max_attempts, backoff_time_millis, result_predicate, exception_predicate
        )

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> AsyncRetryStrategy[Any]:
        """Repeat up to ``max_attempts`` times, after pauses that grow by ``multiplier`` from
        ``initial_delay`` to ``max_retry_delay``, both in milliseconds."""
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts,
            initial_delay,
            max_retry_delay,
            multiplier,
            result_predicate,
            exception_predicate,
        )


class RetryPredicate(AsyncRetryPredicate[OUT]):
    """Two predicates, either of which may be missing."""

    def __init__(
        self,
        result_predicate: ResultPredicate | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> None:
        for predicate in (result_predicate, exception_predicate):
            if predicate is not None and not callable(predicate):
                raise ProgramError(f"A retry predicate must be callable, got {predicate!r}.")
        self._result_predicate = result_predicate
        self._exception_predicate = exception_predicate

    def result_predicate(self) -> ResultPredicate | None:
        return self._result_predicate

    def exception_predicate(self) -> ExceptionPredicate | None:
        return self._exception_predicate


class NoRetryStrategy(AsyncRetryStrategy[OUT]):
    """Takes every answer as it is, and every failure for final."""

    def can_retry(self, current_attempts: int) -> bool:
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        return RetryPredicate(None, None)


class FixedDelayRetryStrategy(AsyncRetryStrategy[OUT]):
    """Always the same pause."""

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> None:
        self._max_attempts = _positive("max_attempts", max_attempts)
        self._backoff_time_millis = _positive("backoff_time_millis", backoff_time_millis)
        self._predicate = RetryPredicate[OUT](result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return self._backoff_time_millis

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        return self._predicate


class ExponentialBackoffDelayRetryStrategy(FixedDelayRetryStrategy[OUT]):
    """Pauses that grow. They depend on the attempt alone, so elements do not disturb each other."""

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> None:
        _positive("initial_delay", initial_delay)
        super().__init__(max_attempts, initial_delay, result_predicate, exception_predicate)
        self._max_retry_delay = _positive("max_retry_delay", max_retry_delay)
        self._multiplier = _positive("multiplier", multiplier)

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        growth = self._multiplier ** (max(current_attempts, 1) - 1)
        return int(min(self._backoff_time_millis * growth, self._max_retry_delay))


def _positive(name: str, value: N) -> N:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
        return value
    raise ProgramError(f"{name} of a retry strategy must be a number above 0, got {value!r}.")


NO_RETRY_STRATEGY: AsyncRetryStrategy[Any] = NoRetryStrategy()


def empty_result_predicate(result: Collection[object] | None) -> bool:
    """True for an answer with no elements."""
    return result is None or len(result) == 0


def has_exception_predicate(error: BaseException | None) -> bool:
    """True for every failure."""
    return error is not None


def exception_type_predicate(
    error: BaseException | None, expected_error_type: type[BaseException]
) -> bool:
    """True for failures of one type; bind the type with ``functools.partial``."""
    return isinstance(error, expected_error_type)
