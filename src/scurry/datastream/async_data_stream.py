"""Asynchronous calls on a stream: a service is asked about many elements at a time."""

from __future__ import annotations

import inspect
from typing import Any

from scurry.common.errors import ProgramError
from scurry.common.time import TimeSpan, milliseconds_of
from scurry.common.type_inference import yield_type_of
from scurry.datastream.plain_stream import DataStream
from scurry.functions.adapters import window_function as instance_of
from scurry.functions.async_io import NO_RETRY_STRATEGY, AsyncFunction, AsyncRetryStrategy
from scurry.plan import nodes


class AsyncDataStream:
    """Applies an :class:`AsyncFunction` to a stream.

    ``timeout`` is the time an element may take, retries included; 0 is no limit. ``capacity`` is
    how many calls each instance has under way at most.
    """

    @staticmethod
    def unordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: TimeSpan,
        capacity: int = 100,
        output_type: Any = None,
    ) -> DataStream:
        """Results as they come; only watermarks are not overtaken."""
        return _wait(
            data_stream, async_function, timeout, NO_RETRY_STRATEGY, capacity, output_type, False
        )

    @staticmethod
    def unordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: TimeSpan,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: Any = None,
    ) -> DataStream:
        """Results as they come; calls are repeated as the strategy says."""
        return _wait(
            data_stream, async_function, timeout, async_retry_strategy, capacity, output_type, False
        )

    @staticmethod
    def ordered_wait(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: TimeSpan,
        capacity: int = 100,
        output_type: Any = None,
    ) -> DataStream:
        """Results in the order of the elements they were made from."""
        return _wait(
            data_stream, async_function, timeout, NO_RETRY_STRATEGY, capacity, output_type, True
        )

    @staticmethod
    def ordered_wait_with_retry(
        data_stream: DataStream,
        async_function: AsyncFunction[Any, Any],
        timeout: TimeSpan,
        async_retry_strategy: AsyncRetryStrategy[Any],
        capacity: int = 100,
        output_type: Any = None,
    ) -> DataStream:
        """Results in order; calls are repeated as the strategy says."""
        return _wait(
            data_stream, async_function, timeout, async_retry_strategy, capacity, output_type, True
        )


def _wait(
    stream: DataStream,
    function: AsyncFunction[Any, Any],
    timeout: TimeSpan,
    strategy: AsyncRetryStrategy[Any],
    capacity: int,
    output_type: Any,
    ordered: bool,
) -> DataStream:
    if not isinstance(stream, DataStream):
        raise ProgramError(f"AsyncDataStream needs a DataStream, got {stream!r}.")
    instance_of(function, (AsyncFunction,), "AsyncDataStream")
    kind = type(function).__name__
    if not inspect.iscoroutinefunction(function.async_invoke):
        raise ProgramError(
            f"{kind}.async_invoke is not declared with `async def`, so it would hold up all other "
            "calls. Declare it so, or use map or flat_map for a function that does not wait."
        )
    if not isinstance(capacity, int) or isinstance(capacity, bool) or capacity < 1:
        raise ProgramError(
            f"The capacity of {kind} is {capacity!r}; it must be a whole number from 1 on: how "
            "many calls an instance has under way at most."
        )
    limit = milliseconds_of(timeout)
    _check_strategy(strategy, limit)
    return stream._then(
        nodes.AsyncWait,
        "async wait operator",
        output_type,
        yield_type_of(function.async_invoke),
        function=function,
        timeout_ms=limit,
        retry=strategy,
        capacity=capacity,
        ordered=ordered,
    )


def _check_strategy(strategy: AsyncRetryStrategy[Any], limit: int) -> None:
    if not isinstance(strategy, AsyncRetryStrategy):
        raise ProgramError(
            f"{strategy!r} is not an AsyncRetryStrategy; make one with "
            "AsyncRetryStrategy.fixed_delay(...) or AsyncRetryStrategy.exponential_backoff(...)."
        )
    if strategy is not NO_RETRY_STRATEGY and limit <= 0:
        raise ProgramError(
            f"A stream with retries needs a timeout above 0, got {limit} ms: it bounds all "
            "attempts for an element together."
        )
    if strategy.get_retry_predicate() is None:
        raise ProgramError(
            f"{type(strategy).__name__}.get_retry_predicate() returned None; it must return an "
            "AsyncRetryPredicate, whose predicates may be None."
        )
