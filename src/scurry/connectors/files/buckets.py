"""Buckets: the directory below a sink's path that a record goes to.

By time a record goes to the directory of its hour, day and so on; by key to one named after
something in it. Processing time is the time of the micro-batch, so a repeated batch fills the same
buckets.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from scurry.common.errors import ProgramError, TypeMismatchError, shorten
from scurry.functions.sink import Records

Places = np.ndarray[Any, np.dtype[np.int64]]
#: Buckets, and for each the records that go there: None for all of them.
Assigned = list[tuple[str, Places | None]]
_PATTERNS = {
    "yyyy": "%Y",
    "uuuu": "%Y",
    "yy": "%y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
    "DDD": "%j",
}


class BucketAssigner(ABC):
    """Decides on the bucket of each record."""

    @abstractmethod
    def assign(self, records: Records, count: int, now: int) -> Assigned:
        """The buckets of ``count`` records."""

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """No buckets: all files lie in the sink's path itself."""
        return _NoBuckets()

    @staticmethod
    def date_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None
    ) -> BucketAssigner:
        """A bucket for each hour, or what ``format_str`` distinguishes, of processing time."""
        return _ProcessingTime(format_str, timezone_id)

    @staticmethod
    def event_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None
    ) -> BucketAssigner:
        """The same by the records' own timestamps."""
        return _EventTime(format_str, timezone_id)

    @staticmethod
    def key_bucket_assigner(selector: Callable[[Any], Any]) -> BucketAssigner:
        """A bucket for each value of ``selector(record)``, such as ``f"country={record.country}"``;
        ``/`` in it makes directories in directories."""
        return _ByKey(selector)


class _NoBuckets(BucketAssigner):
    def assign(self, records: Records, count: int, now: int) -> Assigned:
        return [("", None)]


class _ByTime(BucketAssigner):
    def __init__(self, format_str: str, timezone_id: str | None) -> None:
        self._pattern = _strftime(format_str)
        self._zone: tzinfo = UTC
        if timezone_id is not None:
            try:
                self._zone = ZoneInfo(timezone_id)
            except (ZoneInfoNotFoundError, ValueError):
                raise ProgramError(
                    f"unknown time zone {timezone_id!r}: use a name such as 'Europe/Berlin'."
                ) from None

    def _name(self, millis: int) -> str:
        return datetime.fromtimestamp(millis // 1000, self._zone).strftime(self._pattern)


class _ProcessingTime(_ByTime):
    def assign(self, records: Records, count: int, now: int) -> Assigned:
        return [(self._name(now), None)]


class _EventTime(_ByTime):
    def assign(self, records: Records, count: int, now: int) -> Assigned:
        stamps = records.ts
        if stamps is None or int(stamps.min()) == np.iinfo(np.int64).min:
            raise TypeMismatchError(
                "event_time_bucket_assigner needs records with timestamps, and this one has none. "
                "Call assign_timestamps_and_watermarks before the sink."
            )
        seconds, inverse = np.unique(stamps // 1000, return_inverse=True)
        names = [self._name(second * 1000) for second in seconds.tolist()]
        return _grouped(names, inverse)


class _ByKey(BucketAssigner):
    def __init__(self, selector: Callable[[Any], Any]) -> None:
        if not callable(selector):
            raise ProgramError(f"key_bucket_assigner needs a function, got {selector!r}.")
        self._selector = selector

    def assign(self, records: Records, count: int, now: int) -> Assigned:
        names = list(map(str, map(self._selector, records.rows)))
        numbers = {name: at for at, name in enumerate(dict.fromkeys(names))}
        for name in numbers:
            _check(name)
        places = np.array([numbers[name] for name in names], dtype=np.int64)
        return _grouped(list(numbers), places)


def _grouped(names: list[str], numbers: Places) -> Assigned:
    """Records by name, where record ``i`` has name ``names[numbers[i]]``; their order is kept."""
    merged = {name: at for at, name in enumerate(dict.fromkeys(names))}
    if len(merged) == 1:
        return [(names[0], None)]
    owners = np.array([merged[name] for name in names], dtype=np.int64)[numbers]
    return [(name, np.flatnonzero(owners == at)) for name, at in merged.items()]


def _check(name: str) -> None:
    parts = name.split("/")
    if not name or any(part in ("", ".", "..") or part[0] in "._" for part in parts):
        raise TypeMismatchError(
            f"{shorten(name)} is no name of a bucket: it must be a relative path without parts "
            "that are empty or begin with '.' or '_', which readers pass over."
        )
    if "\0" in name:
        raise TypeMismatchError(f"{shorten(name)} is no name of a bucket: it holds a zero byte.")


def _strftime(pattern: str) -> str:
    """Python's notation for one of Java's, as far as buckets need it."""
    out = []
    for token in _tokens(pattern):
        if token[0] == "'":
            out.append(token[1:-1].replace("%", "%%"))
        elif token.isalpha():
            if token not in _PATTERNS:
                raise ProgramError(
                    f"date_time_bucket_assigner({pattern!r}): {token!r} is not understood. Use "
                    f"{', '.join(_PATTERNS)}, and 'quotes' around other letters."
                )
            out.append(_PATTERNS[token])
        else:
            out.append(token.replace("%", "%%"))
    return "".join(out)


def _tokens(pattern: str) -> list[str]:
    """Quoted texts, runs of one letter, and what is between."""
    return [found.group() for found in re.finditer(r"'[^']*'|([a-zA-Z])\1*|[^a-zA-Z']+", pattern)]
