"""`RedisSink`: the last value of each key, in Redis.

Each micro-batch is one transaction of Redis (``MULTI``/``EXEC``), together with the mark of the
batch: a repeated batch is recognised and passed over. The key of the mark is watched from the
moment at which it is read, so the transaction fails if another driver has entered meanwhile.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

from scurry.common.errors import JobError, ProgramError, TypeMismatchError, shorten
from scurry.common.types import Row, RowKind
from scurry.connectors.patience import DEFAULT_SECONDS, Patience
from scurry.connectors.records import names_of, values_of
from scurry.functions.fencing import Fence
from scurry.functions.history import History, Mark, NumbersOnly
from scurry.functions.sink import CommitterContext, Sink, SinkWriter, WriterContext

T = TypeVar("T")


def package() -> Any:
    """The package redis."""
    try:
        import redis
    except ImportError:
        raise ProgramError(
            "Redis needs the package redis. Run: python -m pip install 'scurry[redis]'"
        ) from None
    return redis


class RedisSink(Sink):
    """Keeps the last record of each key; made with :meth:`values` or :meth:`hashes`."""

    def __init__(
        self, url: str, key: str | None, prefix: str, expire_seconds: int | None, patience: float
    ) -> None:
        package()
        parts = urlsplit(url)
        if parts.scheme not in ("redis", "rediss", "unix"):
            raise ProgramError(
                "RedisSink needs a URL such as 'redis://localhost:6379/0', got one that begins "
                f"with {parts.scheme!r}."
            )
        self._url = url
        self._server = f"Redis at {parts.hostname or parts.path}:{parts.port or 6379}"
        self._key = key
        self._prefix = prefix
        self._expire = expire_seconds
        self._patience = patience
        self._client: Any = None
        self._marker = ""
        self._history: History = NumbersOnly()
        self._lease = Fence()

    @staticmethod
    def values(
        url: str,
        prefix: str = "",
        *,
        expire_seconds: int | None = None,
        patience_seconds: float = DEFAULT_SECONDS,
    ) -> RedisSink:
        """Records are pairs of key and value. Text and bytes are stored as they are, other values
        as JSON; None removes the key."""
        return RedisSink(url, None, prefix, expire_seconds, patience_seconds)

    @staticmethod
    def hashes(
        url: str,
        key: str,
        prefix: str = "",
        *,
        expire_seconds: int | None = None,
        patience_seconds: float = DEFAULT_SECONDS,
    ) -> RedisSink:
        """Records have named fields, and become hashes under the value of the field ``key``. A Row
        of kind ``DELETE`` removes its hash."""
        return RedisSink(url, key, prefix, expire_seconds, patience_seconds)

    def __getstate__(self) -> dict[str, Any]:
        # writers never connect, so the password stays on the driver
        return {**self.__dict__, "_url": "", "_client": None}

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _LastValues(self._key, self._prefix)

    def start(self, context: CommitterContext) -> None:
        self._client = package().Redis.from_url(
            self._url, socket_connect_timeout=10, socket_timeout=30
        )
        self._marker = f"_scurry:{context.checkpoint_id}/{context.uid}"
        self._history = context.history
        self._lease = context.lease

    def committed_mark(self) -> Mark | None:
        mark, _ = self._patiently(lambda: self._read(self._client))
        return mark

    def _read(self, client: Any) -> tuple[Mark | None, int]:
        """The last mark, and the epoch of the lease of the driver that entered last."""
        found = client.get(self._marker)
        if found is None:
            return None, 0
        # marks of earlier versions are a number and nothing else, or have no epoch
        text = found if isinstance(found, str) else found.decode()
        batch, branch, when, epoch = [*text.split("/"), "", "", ""][:4]
        mark = Mark(int(batch), branch, int(when) if when else None)
        return mark if mark.batch >= 0 else None, int(epoch or 0)

    def recover(self, batch_id: int) -> None:
        self._patiently(lambda: self._watching(self._enter))

    def _enter(self, pipe: Any) -> None:
        mark, epoch = self._read(pipe)
        self._lease.enter(epoch)
        pipe.multi()
        pipe.set(self._marker, self._mark_text(mark or Mark(-1)))

    def _watching(self, prepare: Callable[[Any], None]) -> None:
        """Have ``prepare`` read the mark and fill a transaction, and execute it; once more if
        somebody else has written the mark between."""
        with self._client.pipeline(transaction=True) as pipe:
            while True:
                try:
                    pipe.watch(self._marker)
                    prepare(pipe)
                    pipe.execute()
                    return
                except package().WatchError:
                    pipe.reset()

    def why_not_truncate(self) -> str:
        return (
            "Redis keeps no older values to go back to. With 'append' the job writes each key "
            "again as it comes to it; keys that it does not write any more stay."
        )

    def accept(self, mark: Mark) -> None:
        def prepare(pipe: Any) -> None:
            self._lease.enter(self._read(pipe)[1])
            pipe.multi()
            pipe.set(self._marker, self._mark_text(mark))

        self._patiently(lambda: self._watching(prepare))

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        changes: dict[str, Any] = {}
        for message in messages:
            changes.update(message)
        if changes:
            self._patiently(lambda: self._watching(partial(self._apply, batch_id, changes)))

    def _patiently(self, call: Callable[[], T]) -> T:
        waiting = Patience(self._server, self._patience, purpose="write a micro-batch")
        try:
            return waiting.call(call, _is_passing)
        except package().RedisError as failure:
            raise JobError(
                f"RedisSink could not write a micro-batch to {self._server}: {failure}. Remove the "
                "cause and restart the job, which writes the micro-batch again."
            ) from failure

    def _apply(self, batch: int, changes: Mapping[str, Any], pipe: Any) -> None:
        mark, epoch = self._read(pipe)
        self._lease.admit(epoch)
        repeated = self._history.repeats(batch, mark)
        pipe.multi()
        if repeated:
            return
        for key, value in changes.items():
            if value is None or isinstance(value, dict):
                pipe.delete(key)
            if isinstance(value, dict) and value:
                pipe.hset(key, mapping=value)
                if self._expire is not None:
                    pipe.expire(key, self._expire)
            elif value is not None and not isinstance(value, dict):
                pipe.set(key, value, ex=self._expire)
        pipe.set(self._marker, self._mark_text(self._history.mark(batch)))

    def _mark_text(self, mark: Mark) -> str:
        now = int(time.time() * 1000)
        return f"{mark.batch}/{mark.branch}/{mark.when or now}/{self._lease.epoch}"

    def close(self) -> None:
        if self._client is not None:
            self._client.close()


def _is_passing(failure: Exception) -> bool:
    redis = package()
    hopeless = (redis.AuthenticationError, redis.exceptions.AuthorizationError)
    passing = (redis.ConnectionError, redis.TimeoutError, redis.BusyLoadingError)
    return isinstance(failure, passing) and not isinstance(failure, hopeless)


class _LastValues(SinkWriter):
    def __init__(self, key: str | None, prefix: str) -> None:
        self._key = key
        self._prefix = prefix
        self._last: dict[str, Any] = {}

    def write(self, rows: list[Any]) -> None:
        take = self._pair if self._key is None else self._hash
        for row in rows:
            kind = row.get_row_kind() if type(row) is Row else RowKind.INSERT
            if kind is not RowKind.UPDATE_BEFORE:
                key, value = take(row)
                name = f"{self._prefix}{key}"
                self._last[name] = None if kind is RowKind.DELETE else value

    def _pair(self, row: Any) -> tuple[Any, Any]:
        if not isinstance(row, (Row, tuple, list)) or len(row) != 2:
            raise TypeMismatchError(
                f"RedisSink.values takes pairs of key and value, got {shorten(row)}"
            )
        return row[0], None if row[1] is None else _stored(row[1])

    def _hash(self, row: Any) -> tuple[Any, Any]:
        names = names_of(row)
        if names is None or self._key not in names:
            raise TypeMismatchError(
                f"RedisSink.hashes takes records with a field {self._key!r}, got {shorten(row)}"
            )
        fields = dict(zip(names, values_of(row, names), strict=True))
        key = fields.pop(self._key)
        return key, {name: _stored(item) for name, item in fields.items() if item is not None}

    def prepare(self) -> Any:
        last, self._last = self._last, {}
        return last or None


def _stored(value: Any) -> str | bytes:
    if isinstance(value, (str, bytes)):
        return value
    try:
        return json.dumps(value)
    except (TypeError, ValueError) as failure:
        raise TypeMismatchError(
            f"{shorten(value)} cannot be stored in Redis: make it text, bytes or what JSON knows"
        ) from failure
