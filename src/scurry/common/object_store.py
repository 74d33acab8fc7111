"""Stores of objects, such as S3: what Scurry asks of them, and one over fsspec.

A store holds *objects*: bytes under a key. Four things are asked of it, and all object stores
promise them: an object appears whole or not at all; it can be created only if there is none of its
key; who reads or lists after a write sees the write; objects can be deleted. Nothing is renamed,
nothing is appended to, and there are no directories. HDFS is made to look like that:
:mod:`scurry.common.hadoop_files`.

Requests fail now and then: a connection is cut, a server is too busy. All requests here can be
repeated, so they are, for about a minute. A repeated creation may find the object that the first
attempt has created, although its answer was lost. So a creation that is refused compares: whoever
creates an object gives it content that nobody else would.
"""

from __future__ import annotations

import errno
import importlib.util
import json
import logging
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from scurry.common.configuration import Configuration
from scurry.common.errors import ConfigurationError
from scurry.common.hadoop_files import HadoopFiles
from scurry.common.options.checkpoints import STORE_CACHE, STORE_OPTIONS

_log = logging.getLogger("scurry.checkpoint")
T = TypeVar("T")
#: What has to be installed for the schemes of URLs, and the module that shows that it is.
_NEEDED = {
    "s3": ("s3fs", "scurry[s3]"),
    "gs": ("gcsfs", "scurry[gcs]"),
    "abfs": ("adlfs", "scurry[azure]"),
    "hdfs": ("requests", "scurry[hdfs]"),
    "webhdfs": ("requests", "scurry[hdfs]"),
}
_HADOOP = frozenset({"hdfs", "webhdfs"})
#: Other spellings of a scheme.
_SPELLINGS = {"s3a": "s3", "gcs": "gs", "az": "abfs", "abfss": "abfs"}
#: Arguments that the configuration may replace. Requests are repeated here; a library that repeats
#: them as well multiplies the attempts, and its pauses are long.
_DEFAULTS: dict[str, dict[str, Any]] = {
    "s3": {"config_kwargs": {"retries": {"max_attempts": 1}}},
}
#: Seconds before the second attempt at a request; each further pause is twice as long.
_PAUSE, _ATTEMPTS = 0.1, 9
#: Objects that are deleted by one request.
_AT_ONCE = 1000
#: Words in the names of options whose values are shown to nobody.
_SECRET = ("secret", "token", "password", "key", "credential", "connection", "cert")
#: Libraries that write the headers of requests, with credentials, into their logs for debugging.
_TALKATIVE = ("botocore", "aiobotocore", "s3fs", "gcsfs", "google", "azure", "adlfs", "urllib3")
#: Failures that another attempt does not change.
_FINAL = (FileNotFoundError, FileExistsError, PermissionError)
_FINAL_NUMBERS = frozenset({errno.ENOSYS, errno.ENAMETOOLONG, errno.EPERM})


@dataclass(frozen=True)
class StoreSettings:
    """How an object store is reached, as the configuration says."""

    #: arguments of the file system in fsspec, such as ``endpoint_url``, as texts
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    #: how many bytes of objects a machine keeps that nobody has open
    cache_bytes: int = STORE_CACHE.default

    @classmethod
    def of(cls, configuration: Configuration) -> StoreSettings:
        """What ``configuration`` says."""
        options = STORE_OPTIONS.read_entries(configuration)
        return cls(options, STORE_CACHE.read(configuration))

    @classmethod
    def of_environment(cls) -> StoreSettings:
        """What the variable ``SCURRY_CONF`` says, for whoever has no configuration."""
        held = json.loads(os.environ.get("SCURRY_CONF") or "{}")
        return cls.of(Configuration.of({key: str(value) for key, value in held.items()}))


def _arguments(options: Mapping[str, str]) -> dict[str, Any]:
    """Options as what they mean: numbers, true and false, objects in JSON, otherwise texts."""
    made: dict[str, Any] = {}
    for name, text in options.items():
        try:
            made[name] = msgspec.json.decode(text)
        except msgspec.DecodeError:
            made[name] = text
    return made


class ObjectStore:
    """The store behind URLs of one scheme. Credentials may be among its settings, so these are in
    no text about the store. A store can be sent to other processes."""

    def __init__(self, scheme: str, settings: StoreSettings) -> None:
        #: how many bytes of objects a machine keeps that nobody has open
        self.cache_bytes = settings.cache_bytes
        self.scheme = _SPELLINGS.get(scheme, scheme)
        self._options = _arguments(settings.options)
        self._secrets = _secrets_in(settings.options)
        self._connected: tuple[int, Any] | None = None
        #: how many requests of each kind this process has made, repeated ones not counted
        self.requests: Counter[str] = Counter()
        if self.scheme not in _NEEDED:
            raise ConfigurationError(
                f"Scurry cannot keep checkpoints at {scheme}:// URLs. Give a path that the driver "
                f"and all executors share, or a URL of one of {', '.join(sorted(_NEEDED))}."
            )
        module, extra = _NEEDED[self.scheme]
        if importlib.util.find_spec(module) is None:
            raise ConfigurationError(
                f"Checkpoints at {scheme}:// URLs need the package {module}, on the driver and on "
                f"all executors: pip install '{extra}'."
            )

    def __repr__(self) -> str:
        return f"ObjectStore({self.scheme!r})"

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, ObjectStore) and self.scheme == other.scheme
        return same and self._options == other._options  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self.scheme)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_connected": None, "requests": Counter()}

    @property
    def _files(self) -> Any:
        """The file system of fsspec; a process that was forked makes one of its own."""
        if self._connected is None or self._connected[0] != os.getpid():
            self._connected = os.getpid(), self._connect()
        return self._connected[1]

    def _connect(self) -> Any:
        if self.scheme in _HADOOP:
            return HadoopFiles(self.scheme, self._options)
        import fsspec

        _keep_credentials_out_of_logs()
        plain = {"skip_instance_cache": True, "use_listings_cache": False}
        asked = {**plain, **_DEFAULTS.get(self.scheme, {}), **self._options}
        return fsspec.filesystem(self.scheme, **asked)

    # --- requests

    def read(self, key: str) -> bytes:
        """The content of an object; raises :class:`FileNotFoundError` if there is none."""
        content: bytes = self._ask("get", key, lambda files: files.cat_file(key))
        return content

    def write(self, key: str, content: bytes) -> None:
        """Make ``content`` the content of an object, all at once."""
        self._ask("put", key, lambda files: files.pipe_file(key, content))

    def create(self, key: str, content: bytes) -> bool:
        """Create an object; False if there is one with other content."""
        try:
            self._ask("put", key, lambda files: files.pipe_file(key, content, mode="create"))
        except FileExistsError:
            return self.read(key) == content
        return True

    def copy(self, key: str, target: str) -> None:
        """Have the content of the object ``key`` under the key ``target`` too, without its coming
        here, where the store can do that; raises :class:`FileNotFoundError` if there is none."""
        if self.scheme in _HADOOP:
            self.write(target, self.read(key))
            return
        self._ask("copy", key, lambda files: files.cp_file(key, target))

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects, which need not be there."""
        left = sorted(keys)
        for first in range(0, len(left), _AT_ONCE):
            self._delete(left[first : first + _AT_ONCE])

    def _delete(self, keys: list[str]) -> None:
        def deleted(files: Any) -> None:
            if self.scheme == "s3" and len(keys) > 1:
                from fsspec.asyn import sync

                sync(files.loop, files._bulk_delete, keys)
                return
            for key in keys:
                try:
                    files.rm_file(key)
                except FileNotFoundError:
                    continue

        self._ask("delete", keys[0], deleted)

    def find(self, prefix: str) -> dict[str, int]:
        """The keys of all objects below ``prefix``, with their sizes."""
        found: dict[str, Any] = self._ask(
            "list", prefix, lambda files: files.find(prefix, detail=True)
        )
        below = f"{prefix}/"
        return {key: int(info["size"]) for key, info in found.items() if key.startswith(below)}

    def names(self, prefix: str) -> list[str]:
        """The next part of all keys below ``prefix``, each once."""

        def listed(files: Any) -> list[str]:
            try:
                return [str(key) for key in files.ls(prefix, detail=False)]
            except FileNotFoundError:
                return []

        keys = self._ask("list", prefix, listed)
        below = f"{prefix}/"
        names = (key.removeprefix(below).rstrip("/") for key in keys if key.startswith(below))
        return sorted({name for name in names if name})

    def _ask(self, kind: str, key: str, request: Callable[[Any], T]) -> T:
        """Make a request, and make it again if it fails for reasons that pass."""
        self.requests[kind] += 1
        pause = _PAUSE
        for left in reversed(range(_ATTEMPTS)):
            try:
                return request(self._files)
            except Exception as failure:
                found = _as_known(failure, self._secrets)
                if not left or isinstance(found, _FINAL) or _is_final(found):
                    raise _at(f"{self.scheme}://{key}", found) from None
                _log.debug("%s of %s is tried again: %s", kind, key, found)
            time.sleep(pause)
            pause *= 2
        raise AssertionError


def _secrets_in(options: Mapping[str, str]) -> frozenset[str]:
    """The values of options that must not be shown, as they are and as parts of a URL; also those
    within options that are objects in JSON."""
    values = {value for name, value in options.items() if _names_a_secret(name)}
    values.update(_texts_in(_arguments(options), secret=False))
    values.discard("")
    return frozenset(values | {quote(value, safe="") for value in values})


def _keep_credentials_out_of_logs() -> None:
    """Have libraries of stores log no details, unless somebody has set a level for one of them."""
    for name in _TALKATIVE:
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.INFO)


def _names_a_secret(name: str) -> bool:
    return any(word in name.lower() for word in _SECRET)


def _texts_in(value: Any, secret: bool) -> Iterator[str]:
    """The texts in a value read from JSON that are secret, or whose names tell that they are."""
    if isinstance(value, str) and secret:
        yield value
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from _texts_in(part, secret or _names_a_secret(name))
    elif isinstance(value, list):
        for part in value:
            yield from _texts_in(part, secret)


def _as_known(failure: Exception, secrets: frozenset[str]) -> OSError:
    """A failure as an :class:`OSError` without ``secrets``, which libraries put into messages. A
    refused creation has other names in some stores."""
    text = str(failure)
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    if "PreconditionFailed" in text or "precondition" in text.lower():
        return FileExistsError(text)
    for kind in _FINAL:
        if isinstance(failure, kind):
            return kind(text)
    if isinstance(failure, NotImplementedError):
        return OSError(errno.ENOSYS, text)
    if isinstance(failure, OSError) and text == str(failure):
        return failure
    return OSError(f"{type(failure).__name__}: {text}")


def _at(place: str, failure: OSError) -> OSError:
    """``failure`` with the place in its text, unless it is one that callers expect."""
    if isinstance(failure, (FileNotFoundError, FileExistsError)) or place in str(failure):
        return failure
    kind = PermissionError if isinstance(failure, PermissionError) else OSError
    made = kind(f"{place}: {failure}")
    made.errno = failure.errno
    return made


def _is_final(failure: OSError) -> bool:
    return failure.errno in _FINAL_NUMBERS
