"""What all look-ups have in common: the key of an element, the cache, joining the answer to it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from scurry.common.errors import ProgramError
from scurry.common.time import TimeSpan, milliseconds_of
from scurry.connectors.lookup.cache import LookupCache
from scurry.functions.async_io import AsyncFunction
from scurry.functions.contexts import RuntimeContext


def _pair(value: Any, found: Any) -> Any:
    return value, found


class AsyncLookup(AsyncFunction[Any, Any]):
    """Looks something up for each element, and emits one element for it.

    ``key(value)`` is what to look up. ``join(value, found)`` makes the element to emit, by default
    the pair of both; ``found`` is None where there is nothing. Each instance keeps up to
    ``cache_size`` answers for ``cache_ttl``, and that there is nothing for ``missing_ttl``, by
    default as long. A cached answer may be as old as that: the shorter, the fresher.

    Write your own by overriding :meth:`look_up`, and :meth:`connect` and :meth:`disconnect`.
    """

    def __init__(
        self,
        key: Callable[[Any], Any],
        join: Callable[[Any, Any], Any] | None = None,
        cache_size: int = 10_000,
        cache_ttl: TimeSpan = "1 min",
        missing_ttl: TimeSpan | None = None,
    ) -> None:
        for name, given in (("key", key), ("join", join)):
            if given is not None and not callable(given):
                raise ProgramError(
                    f"{type(self).__name__} needs a function as {name}, got {given!r}."
                )
        if not isinstance(cache_size, int) or cache_size < 0:
            raise ProgramError(
                f"The cache_size of {type(self).__name__} is {cache_size!r}; it must be a whole "
                "number, 0 for no cache."
            )
        self._key = key
        self._join = join or _pair
        self._cache_size = cache_size
        self._ttl_ms = milliseconds_of(cache_ttl)
        self._missing_ttl_ms = self._ttl_ms if missing_ttl is None else milliseconds_of(missing_ttl)

    @abstractmethod
    async def look_up(self, key: Any) -> Any:
        """Ask for ``key``; None if there is nothing."""

    async def connect(self) -> None:
        """Called once, before the first question."""

    async def disconnect(self) -> None:
        """Called once, after the last answer."""

    async def open(self, runtime_context: RuntimeContext) -> None:  # type: ignore[override]
        """Connect, with an empty cache."""
        self._cache = self.new_cache()
        group = runtime_context.get_metrics_group().add_group("lookup")
        group.gauge("hits", lambda: self._cache.hits)
        group.gauge("misses", lambda: self._cache.misses)
        group.gauge("cached", lambda: len(self._cache))
        await self.connect()

    def new_cache(self) -> LookupCache:
        """An empty cache, for one instance."""
        return LookupCache(self._cache_size, self._ttl_ms, self._missing_ttl_ms)

    async def close(self) -> None:  # type: ignore[override]
        """Disconnect."""
        await self.disconnect()

    async def async_invoke(self, value: Any) -> list[Any]:
        """The element joined with what was found for it."""
        return [self._join(value, await self._cache.get(self._key(value), self.look_up))]
