"""Look-ups over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote

from scurry.common.errors import JobError, ProgramError
from scurry.common.time import TimeSpan
from scurry.connectors.lookup.lookup import AsyncLookup
from scurry.connectors.redirects import LIMIT, STATUSES, check_redirect, without_secrets

#: Statuses that may be another one the next time.
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})


class HttpStatusError(JobError):
    """A service answered with a status that is neither success nor "there is nothing"."""

    def __init__(self, service: str, status: int, text: str) -> None:
        self.status = status
        super().__init__(
            f"{service} answered with status {status}: {text}. Repeat such calls with "
            "AsyncDataStream.ordered_wait_with_retry(...) if it may pass."
        )


class AsyncHttpLookup(AsyncLookup):
    """Asks ``GET url`` for each key: ``"http://host/users/{key}"``, where the key, quoted, takes
    the place of ``{key}``; or ``url`` is a function of the key.

    What is found is the JSON of the answer (``answer="json"``), or its ``"text"`` or ``"bytes"``.
    The statuses in ``missing`` say that there is nothing, others from 300 on raise
    :class:`HttpStatusError`. Redirects are followed, but not to another host with ``headers`` or a
    login. ``connections`` is how many an instance holds at most.
    """

    def __init__(
        self,
        url: str | Callable[[Any], str],
        key: Callable[[Any], Any],
        join: Callable[[Any, Any], Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        answer: str = "json",
        missing: frozenset[int] | set[int] = frozenset({404, 410}),
        connections: int = 100,
        cache_size: int = 10_000,
        cache_ttl: TimeSpan = "1 min",
        missing_ttl: TimeSpan | None = None,
    ) -> None:
        super().__init__(key, join, cache_size, cache_ttl, missing_ttl)
        if isinstance(url, str) and "{key}" not in url:
            raise ProgramError(
                f"The address {without_secrets(url)} has no place for the key: write {{key}} "
                "where it belongs, or give a function of the key."
            )
        if answer not in ("json", "text", "bytes"):
            raise ProgramError(f"answer must be 'json', 'text' or 'bytes', got {answer!r}.")
        _client_package()
        self._url = url
        self._headers = dict(headers or {})
        self._answer = answer
        self._missing = frozenset(missing)
        self._connections = connections

    async def connect(self) -> None:
        from yarl import URL

        client = _client_package()
        self._encoded = partial(URL, encoded=True)
        self._session = client.ClientSession(
            connector=client.TCPConnector(limit=self._connections), headers=self._headers
        )

    async def disconnect(self) -> None:
        await self._session.close()

    async def look_up(self, key: Any) -> Any:
        if isinstance(self._url, str):
            url = self._url.replace("{key}", quote(str(key), safe=""))
        else:
            url = self._url(key)
        place = self._encoded(url)
        for _ in range(LIMIT):
            async with self._session.get(place, allow_redirects=False) as response:
                target = self._redirected(place, response)
                if target is None:
                    return await self._found(response)
                place = target
        raise HttpStatusError(without_secrets(url), response.status, f"more than {LIMIT} redirects")

    def _redirected(self, place: Any, response: Any) -> Any:
        """Where the request has to go next, None if ``response`` is the answer."""
        location = response.headers.get("Location")
        if response.status not in STATUSES or response.status in self._missing or not location:
            return None
        target = place.join(self._encoded(location))
        check_redirect("GET", response.status, str(place), str(target), bool(self._headers))
        if place.user is None:
            return target
        return target.with_user(place.user).with_password(place.password)

    async def _found(self, response: Any) -> Any:
        if response.status in self._missing:
            return None
        if response.status >= 300:
            text = (await response.text())[:200]
            raise HttpStatusError(without_secrets(str(response.url)), response.status, text)
        if self._answer == "json":
            return await response.json(content_type=None)
        return await (response.text() if self._answer == "text" else response.read())


def is_passing(failure: BaseException) -> bool:
    """Whether a failed call may do better the next time; an exception predicate for retries."""
    if isinstance(failure, HttpStatusError):
        return failure.status in _PASSING
    return isinstance(failure, (_client_package().ClientConnectionError, TimeoutError))


def _client_package() -> Any:
    try:
        import aiohttp
    except ImportError:
        raise ProgramError(
            "Look-ups over HTTP need the package aiohttp. Run: python -m pip install 'scurry[http]'"
        ) from None
    return aiohttp
