"""A client for queries: the states of a running job from Python, over HTTP."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from scurry.common.errors import ConfigurationError, JobError
from scurry.queryable.json_values import key_from_json, key_to_json, value_from_json

_MISSING: Any = object()


class QueryFailed(JobError):
    """A query was refused; ``code`` says why, for programs."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Answer(msgspec.Struct, frozen=True):
    """What a state has for a key, as of one committed micro-batch."""

    key: Any
    #: the value; of a list, bag or set its elements, of a map a dict, of windows their panes
    value: Any
    #: the micro-batch, and the watermark of the operator after it
    batch: int
    watermark: int | None
    #: whether the job does not run at the moment, so that this may be old
    stale: bool
    #: when the value expires, in milliseconds since 1970; of a list one for each element, of a map
    #: one for each entry
    expires: Any = None


class QueryableStateClient:
    """Asks for the states of the job ``job``, by name or id, at ``address``.

    >>> client = QueryableStateClient("http://127.0.0.1:9067", "counts")
    >>> client.get("count", "alice").value
    42

    A client keeps a connection for each thread that uses it.
    """

    def __init__(self, address: str, job: str, token: str = "", timeout: float = 30.0) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError(
                f"{address!r} is not the address of a job's queries; it is of the form "
                "http://127.0.0.1:9067, as `scurry status` shows it."
            )
        self._parts = parts
        self._job = job
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._timeout = timeout
        self._own = threading.local()

    def __enter__(self) -> QueryableStateClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection of this thread."""
        connection: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is not None:
            connection.close()

    def fetch(self, path: str = "") -> dict[str, Any]:
        """The answer to a ``GET`` of ``path`` below the states of the job, as JSON has it."""
        return self._ask("GET", path)

    def states(self) -> list[dict[str, Any]]:
        """The queryable states of the job."""
        found: list[dict[str, Any]] = self._ask("GET", "")["states"]
        return found

    def get(self, name: str, key: Any, default: Any = _MISSING) -> Answer:
        """What the state ``name`` has for ``key``. Raises :class:`QueryFailed` if it has nothing,
        or gives ``default`` as the value."""
        return self._get(f"/{_quoted(name)}/{_key_text(key)}", key, default)

    def get_entry(self, name: str, key: Any, entry: Any, default: Any = _MISSING) -> Answer:
        """The value of one entry of a map state."""
        path = f"/{_quoted(name)}/{_key_text(key)}?entry={_key_text(entry)}"
        return self._get(path, key, default)

    def _get(self, path: str, key: Any, default: Any) -> Answer:
        status, told = self._request("GET", path)
        if status == 404 and told["error"]["code"] == "no_such_key" and default is not _MISSING:
            return _answer(key, {"value": key_to_json(None), **told}, default)
        return _answer(key, _checked(status, told))

    def get_many(self, name: str, keys: Iterable[Any]) -> dict[Any, Answer]:
        """What the state has for several keys, as of one micro-batch; keys for which it has
        nothing are left out."""
        asked = list(keys)
        content = msgspec.json.encode({"keys": [key_to_json(key) for key in asked]})
        told = self._ask("POST", f"/{_quoted(name)}", content)
        about = {name: told[name] for name in ("batch", "watermark", "stale")}
        return {
            key: _answer(key, {**result, **about})
            for key, result in zip(asked, told["results"], strict=True)
            if result["found"]
        }

    def scan(
        self,
        name: str,
        *,
        prefix: str | None = None,
        first: int | str | None = None,
        last: int | str | None = None,
        page: int = 1000,
    ) -> Iterator[Answer]:
        """What the state has for all keys in order: those that begin with ``prefix``, or from
        ``first`` up to, but without, ``last``. Each ``page`` is of one micro-batch."""
        bounds = {"from": first, "to": last}
        given = {n: msgspec.json.encode(b).decode() for n, b in bounds.items() if b is not None}
        if prefix is not None:
            given["prefix"] = prefix
        after: str | None = None
        while True:
            asked = {**given, "limit": str(page), **({} if after is None else {"after": after})}
            told = self._ask("GET", f"/{_quoted(name)}?{urlencode(asked)}")
            about = {name: told[name] for name in ("batch", "watermark", "stale")}
            for row in told["rows"]:
                yield _answer(key_from_json(row["key"]), {**row, **about})
            after = told["next"]
            if after is None:
                return

    def _ask(self, method: str, path: str, content: bytes | None = None) -> dict[str, Any]:
        return _checked(*self._request(method, path, content))

    def _request(
        self, method: str, path: str, content: bytes | None = None
    ) -> tuple[int, dict[str, Any]]:
        where = f"{self._parts.path.rstrip('/')}/jobs/{_quoted(self._job)}/state{path}"
        for again in (True, False):
            connection = self._connection()
            try:
                connection.request(method, where, content, self._headers)
                answer = connection.getresponse()
                return answer.status, _decoded(answer.read(), answer.status)
            except (http.client.HTTPException, OSError) as failure:
                connection.close()
                # a connection that was kept may have been closed by the other side meanwhile
                kept = isinstance(failure, (http.client.RemoteDisconnected, ConnectionError))
                if not (again and kept):
                    raise JobError(
                        f"Queries at {self._parts.netloc} cannot be asked: {failure}. See with "
                        "`scurry status` whether the job runs, and where it answers."
                    ) from failure
        raise AssertionError

    def _connection(self) -> http.client.HTTPConnection:
        found: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if found is None:
            secure = self._parts.scheme == "https"
            make = http.client.HTTPSConnection if secure else http.client.HTTPConnection
            found = make(self._parts.hostname or "", self._parts.port, timeout=self._timeout)
            self._own.connection = found
        return found


def _decoded(content: bytes, status: int) -> dict[str, Any]:
    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except msgspec.MsgspecError as failure:
        raise JobError(f"The answer (HTTP {status}) is not one of a job of Scurry.") from failure


def _checked(status: int, told: dict[str, Any]) -> dict[str, Any]:
    if status == 200:
        return told
    error = told.get("error", {})
    raise QueryFailed(status, error.get("code", ""), error.get("message", f"HTTP {status}"))


def _answer(key: Any, told: dict[str, Any], default: Any = _MISSING) -> Answer:
    about = told["batch"], told["watermark"], told["stale"]
    if default is not _MISSING:
        return Answer(key, default, *about)
    if "entries" in told:
        pairs = [(key_from_json(entry["key"]), entry) for entry in told["entries"]]
        until = {name: entry["expires"] for name, entry in pairs if "expires" in entry}
        values = {name: value_from_json(entry["value"]) for name, entry in pairs}
        return Answer(key, values, *about, expires=until or None)
    held = next(told[name] for name in ("elements", "panes", "value") if name in told)
    return Answer(key, value_from_json(held), *about, expires=told.get("expires"))


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _key_text(key: Any) -> str:
    return _quoted(msgspec.json.encode(key_to_json(key)).decode())
