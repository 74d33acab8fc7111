"""A cache in front of a service: bounded in size and age, one question at a time per key."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any


class LookupCache:
    """Answers that are not older than ``ttl_ms``, at most ``size`` of them, the least recently
    used going first. That there is nothing (None) is an answer too, and is kept for
    ``missing_ttl_ms``.

    Whoever asks for a key that is being asked for already waits for that answer: elements of one
    key that arrive together cost one call. With ``size`` 0 that is all the cache does.
    """

    def __init__(
        self,
        size: int,
        ttl_ms: int,
        missing_ttl_ms: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._size = size
        self._ttl = ttl_ms / 1000
        self._missing_ttl = missing_ttl_ms / 1000
        self._clock = clock
        self._answers: dict[Any, tuple[float, Any]] = {}
        self._asked: dict[Any, asyncio.Future[Any]] = {}
        #: questions answered from the cache, and those that went to the service
        self.hits = self.misses = 0

    def __len__(self) -> int:
        return len(self._answers)

    async def get(self, key: Any, ask: Callable[[Any], Awaitable[Any]]) -> Any:
        """The answer for ``key``, from the cache or from ``ask(key)``; failures are not kept."""
        answer = self._answers.pop(key, None)
        if answer is not None and answer[0] > self._clock():
            self._answers[key] = answer
            self.hits += 1
            return answer[1]
        asked = self._asked.get(key)
        while asked is not None:
            await asyncio.wait([asked])
            if not asked.cancelled():
                self.hits += 1
                return asked.result()
            # whoever asked has failed; this one asks for itself, unless another does already
            asked = self._asked.get(key)
        return await self._ask(key, ask)

    async def _ask(self, key: Any, ask: Callable[[Any], Awaitable[Any]]) -> Any:
        self.misses += 1
        mine = self._asked[key] = asyncio.get_running_loop().create_future()
        try:
            value = await ask(key)
        except BaseException:
            mine.cancel()
            raise
        else:
            mine.set_result(value)
            self._keep(key, value)
            return value
        finally:
            del self._asked[key]

    def _keep(self, key: Any, value: Any) -> None:
        ttl = self._missing_ttl if value is None else self._ttl
        if self._size <= 0 or ttl <= 0:
            return
        if len(self._answers) >= self._size:
            del self._answers[next(iter(self._answers))]
        self._answers[key] = (self._clock() + ttl, value)
