"""A result that may not be there yet, under the names that PyFlink gives to it."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Generic, TypeVar

__all__ = ["CompletableFuture"]

T = TypeVar("T")


class CompletableFuture(Generic[T]):
    """The outcome of something that goes on in the background."""

    __slots__ = ("_future",)

    def __init__(self, future: Future[T]) -> None:
        self._future = future

    @classmethod
    def completed(cls, value: T) -> CompletableFuture[T]:
        """One that has its result already."""
        future: Future[T] = Future()
        future.set_result(value)
        return cls(future)

    def cancel(self) -> bool:
        """Try to cancel; false if it runs or has ended already."""
        return self._future.cancel()

    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self._future.cancelled()

    def done(self) -> bool:
        """Whether it has ended: with a result, with an error or by cancellation."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> T:
        """Wait for the result, at most `timeout` seconds; a failure is raised."""
        return self._future.result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait for the end, at most `timeout` seconds: the failure, or None after success."""
        return self._future.exception(timeout)

    def __repr__(self) -> str:
        return f"CompletableFuture({self._future!r})"
