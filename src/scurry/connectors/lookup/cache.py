"""A cache in front of a service: bounded in size and age, one question at a time per key."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any

#: What is returned for a key of which nothing is known.
UNKNOWN = object()


class KeptAnswers:
    """Answers that are not older than ``ttl_ms`` and were not left unused for ``idle_ms``, at most
    ``size`` of them, the least recently used going first. That there is nothing (None, or an
    empty list) is kept for ``missing_ttl_ms``. None is for ever."""

    def __init__(
        self,
        size: int,
        ttl_ms: int | None,
        missing_ttl_ms: int | None,
        idle_ms: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._size = size
        self._ttl, self._missing_ttl, self._idle = map(_seconds, (ttl_ms, missing_ttl_ms, idle_ms))
        self._clock = clock
        #: until when each is good if it is used, and until when if it is not
        self._answers: dict[Any, tuple[float, float, Any]] = {}

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: Any) -> Any:
        """The answer for ``key``, UNKNOWN if there is none."""
        answer = self._answers.pop(key, None)
        if answer is None:
            return UNKNOWN
        now, (until, idle_until, value) = self._clock(), answer
        if min(until, idle_until) <= now:
            return UNKNOWN
        self._answers[key] = (until, now + self._idle, value)
        return value

    def keep(self, key: Any, value: Any) -> None:
        """Keep an answer, if it is to be kept."""
        nothing = value is None or (isinstance(value, list) and not value)
        ttl = self._missing_ttl if nothing else self._ttl
        if self._size <= 0 or ttl <= 0:
            return
        if len(self._answers) >= self._size:
            del self._answers[next(iter(self._answers))]
        now = self._clock()
        self._answers[key] = (now + ttl, now + self._idle, value)


def _seconds(milliseconds: int | None) -> float:
    return math.inf if milliseconds is None else milliseconds / 1000


class LookupCache:
    """Kept answers in front of a service; that there is nothing (None) is an answer too.

    Whoever asks for a key that is being asked for already waits for that answer: elements of one
    key that arrive together cost one call. With ``size`` 0 that is all the cache does.
    """

    def __init__(
        self,
        size: int,
        ttl_ms: int | None,
        missing_ttl_ms: int | None,
        clock: Callable[[], float] = time.monotonic,
        idle_ms: int | None = None,
    ) -> None:
        self._kept = KeptAnswers(size, ttl_ms, missing_ttl_ms, idle_ms, clock)
        self._asked: dict[Any, asyncio.Future[Any]] = {}
        #: questions answered from the cache, and those that went to the service
        self.hits = self.misses = 0

    def __len__(self) -> int:
        return len(self._kept)

    async def get(self, key: Any, ask: Callable[[Any], Awaitable[Any]]) -> Any:
        """The answer for ``key``, from the cache or from ``ask(key)``; failures are not kept."""
        answer = self._kept.get(key)
        if answer is not UNKNOWN:
            self.hits += 1
            return answer
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
            self._kept.keep(key, value)
            return value
        finally:
            del self._asked[key]
