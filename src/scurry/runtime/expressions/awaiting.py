"""Calls of a function that is awaited: several at a time, tried again, and not for ever.

Results keep the order of the rows. A call that fails is made again after a pause, up to a number of
attempts; a row that takes too long, or fails the last time, fails the query. Then the calls that
are still under way are cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from scurry.common.errors import shorten
from scurry.functions.expressions import AsyncSettings
from scurry.runtime.expressions.errors import EvaluationError

__all__ = ["await_all"]

Function = Callable[..., Awaitable[Any]]


async def await_all(
    function: Function, rows: Sequence[tuple[Any, ...]], settings: AsyncSettings, name: str
) -> list[Any]:
    """The results of the function for all rows."""
    places = asyncio.Semaphore(settings.capacity)

    async def one(row: tuple[Any, ...]) -> Any:
        async with places:
            return await _in_time(function, row, settings, name)

    tasks = [asyncio.ensure_future(one(row)) for row in rows]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _in_time(
    function: Function, row: tuple[Any, ...], settings: AsyncSettings, name: str
) -> Any:
    try:
        async with asyncio.timeout(settings.timeout_ms / 1000):
            return await _attempts(function, row, settings)
    except TimeoutError:
        raise EvaluationError(
            f"the function {name} gave no result for {shorten(row, 80)} within "
            f"{settings.timeout_ms} ms; table.exec.async-scalar.timeout allows more"
        ) from None


async def _attempts(function: Function, row: tuple[Any, ...], settings: AsyncSettings) -> Any:
    for attempt in range(1, settings.attempts + 1):
        try:
            return await function(*row)
        except TimeoutError:
            raise
        except Exception:
            if attempt == settings.attempts:
                raise
            await asyncio.sleep(settings.delay_ms / 1000)
    raise AssertionError("there is at least one attempt")
