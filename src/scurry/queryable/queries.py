"""Answers to queries, from the view of one job.

Each answer is of one committed micro-batch: it is read in one transaction, and carries the number
of the micro-batch and the watermark of the operator after it. It is *stale* while the job that
feeds the view does not run, because it restarts or its driver has died.
"""

from __future__ import annotations

import base64
import binascii
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lmdb
import msgspec

from scurry.common.errors import KeyTypeError
from scurry.common.keys import form_of, freeze
from scurry.engine.queryable.locks import is_held
from scurry.engine.queryable.ordered import (
    key_place,
    length_of,
    many_place,
    number_form,
    text_beginning,
)
from scurry.engine.queryable.server_process import DRIVER_LOCK
from scurry.engine.queryable.view import (
    RUNNING,
    STATUS,
    Known,
    Moment,
    ViewReader,
    ViewStatus,
    listed,
    read_status,
)
from scurry.queryable.errors import QueryError
from scurry.queryable.json_values import key_from_json
from scurry.queryable.shapes import Shape
from scurry.state.codecs.schema import name_of
from scurry.state.codecs.schemas import decode_row
from scurry.state.feeds import WINDOWS, QueryableState
from scurry.state.tables.table import prefix_of

if TYPE_CHECKING:
    from scurry.queryable.panes import Panes

#: Keys of one batch of gets, and of one page of a scan.
MOST_KEYS, MOST_ROWS, USUAL_ROWS = 1000, 10_000, 100
#: How often it is looked whether the driver lives.
_LOOK_SECONDS = 0.2
_ABSENT: Any = object()


class _Seen:
    """One micro-batch, as one transaction sees it."""

    def __init__(
        self, queries: Queries, status: ViewStatus, reader: ViewReader, txn: lmdb.Transaction
    ) -> None:
        self.status = status
        self.txn = txn
        self.moment: Moment = reader.moment(txn)
        self.known: Known = reader.known(txn, self.moment)
        self._queries = queries

    def state(self, name: str) -> QueryableState:
        """A state by the name that queries use."""
        found = self.known.states.get(name)
        if found is None:
            there = ", ".join(map(repr, sorted(self.known.states))) or "none"
            raise QueryError(
                404, "no_such_state", f"There is no queryable state {name!r}. There are: {there}."
            )
        return found

    def clock(self, shape: Shape) -> int | None:
        """The time by which values of a state expire."""
        if not shape.row.event_time:
            return int(time.time() * 1000)
        return self.moment.watermarks.get(shape.state.uid)

    def about(self, state: QueryableState) -> dict[str, Any]:
        """What every answer carries."""
        return {
            "state": state.name,
            "batch": self.moment.batch,
            "watermark": self.moment.watermarks.get(state.uid),
            **self._queries.standing(self.status),
        }


class Queries:
    """Answers queries from the view in ``directory``."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._status_file = str(directory / STATUS)
        self._stamp: Any = None
        self._status: ViewStatus | None = None
        self._reader: ViewReader | None = None
        self._current = -1
        self._shapes: dict[str, Shape | Panes] = {}
        self._looked = 0.0
        self._driver_lives = True

    # --- the view

    @property
    def driver_lives(self) -> bool:
        """Whether the driver is there; looked for every now and then."""
        now = time.monotonic()
        if now - self._looked > _LOOK_SECONDS:
            self._looked = now
            self._driver_lives = is_held(self._directory / DRIVER_LOCK)
        return self._driver_lives

    def status(self) -> ViewStatus:
        """What the driver has written last."""
        try:
            found = os.stat(self._status_file)
            stamp = found.st_mtime_ns, found.st_ino
            if self._status is None or stamp != self._stamp:
                self._status, self._stamp = read_status(self._directory), stamp
                sys.path.extend(p for p in self._status.sys_path if p not in sys.path)
        except (OSError, msgspec.MsgspecError) as failure:
            raise QueryError(503, "no_view", "The job has no state to show.") from failure
        return self._status

    def standing(self, status: ViewStatus) -> dict[str, Any]:
        """Whether what is shown is kept up to date."""
        lives = self.driver_lives
        if status.state == RUNNING and lives and not status.trouble:
            return {"stale": False}
        reason = status.trouble or (status.state if status.state != RUNNING else "driver lost")
        return {"stale": True, "reason": reason if lives else "driver lost"}

    @contextmanager
    def _seen(self) -> Iterator[_Seen]:
        status = self.status()
        if status.current < 0:
            raise QueryError(
                503, "loading", "The view of the job is still being filled. Try again."
            )
        if self._reader is None or self._current != status.current:
            self._turn_to(status.current)
        assert self._reader is not None
        with self._reader.begin() as txn:
            yield _Seen(self, status, self._reader, txn)

    def _turn_to(self, number: int) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        try:
            self._reader = ViewReader(self._directory / str(number))
        except lmdb.Error as failure:
            raise QueryError(503, "loading", f"The view cannot be read: {failure}.") from failure
        self._current, self._shapes = number, {}

    def _shape(self, seen: _Seen, name: str) -> Shape | Panes:
        state = seen.state(name)
        shape = self._shapes.get(name)
        if shape is None or shape.state != state:
            if state.kind == WINDOWS:
                # what reads windows takes long to import, and most jobs have none to be queried
                from scurry.queryable.panes import Panes

                shape = Panes(state, seen.known.numbers, seen.status.max_parallelism)
            else:
                shape = Shape(state, seen.known.numbers[state.tables[0]])
            self._shapes[name] = shape
        return shape

    # --- queries

    def jobs(self) -> dict[str, Any]:
        """The job whose states can be queried here."""
        status = self.status()
        job = {
            "id": status.job_id,
            "name": status.name,
            "state": status.state,
            **self.standing(status),
        }
        return {"jobs": [job]}

    def states(self) -> dict[str, Any]:
        """All states that can be queried."""
        with self._seen() as seen:
            return {
                "batch": seen.moment.batch,
                **self.standing(seen.status),
                "states": [
                    {**_described(state), "watermark": seen.moment.watermarks.get(state.uid)}
                    for _, state in sorted(seen.known.states.items())
                ],
            }

    def get(self, name: str, told: Any, entry: Any = _ABSENT) -> dict[str, Any]:
        """What the state ``name`` has for the key that the JSON ``told`` stands for, or of a map
        for its entry ``entry``."""
        with self._seen() as seen:
            shape = self._shape(seen, name)
            about = seen.about(shape.state)
            found = self._found(seen, shape, told, entry)
            if found is None:
                what = "that entry of the key" if entry is not _ABSENT else "the key"
                message = f"State {name!r} has nothing for {what}."
                raise QueryError(404, "no_such_key", message, key=told, **about)
            return {"key": told, **found, **about}

    def get_many(self, name: str, keys: list[Any]) -> dict[str, Any]:
        """What the state ``name`` has for many keys, all of the same micro-batch."""
        if len(keys) > MOST_KEYS:
            raise QueryError(
                *(400, "too_many_keys"),
                f"{len(keys)} keys in one query are more than the {MOST_KEYS} allowed.",
            )
        with self._seen() as seen:
            shape = self._shape(seen, name)
            found = [self._found(seen, shape, told, _ABSENT) for told in keys]
            results = [
                {"key": told, "found": one is not None, **(one or {})}
                for told, one in zip(keys, found, strict=True)
            ]
            return {**seen.about(shape.state), "results": results}

    def _found(
        self, seen: _Seen, shape: Shape | Panes, told: Any, entry: Any
    ) -> dict[str, Any] | None:
        key, groups = engine_key(told), seen.status.max_parallelism
        if not isinstance(shape, Shape):
            return shape.of_key(seen.txn, seen.moment, key)
        if entry is not _ABSENT:
            return self._entry(seen, shape, key, entry)
        place = key_place(key, groups, shape.many)
        if not shape.many:
            record = seen.txn.get(shape.number + place)
            return None if record is None else shape.show([bytes(record)], seen.clock(shape))
        records = [record for _, record in listed(seen.txn, shape.number + place)]
        return shape.show(records, seen.clock(shape)) if records else None

    def _entry(self, seen: _Seen, shape: Shape, key: Any, entry: Any) -> dict[str, Any] | None:
        if shape.state.kind != "MapState":
            kind = shape.state.kind
            raise QueryError(400, "no_entries", f"A {kind} has no entries that could be asked for.")
        address = prefix_of(key, seen.status.max_parallelism) + form_of(engine_key(entry))
        record = seen.txn.get(shape.number + many_place(address))
        shown = None if record is None else shape.show([bytes(record)], seen.clock(shape))
        return None if shown is None else {"entry": entry, **_without_key(shown["entries"][0])}

    def scan(
        self,
        name: str,
        prefix: str | None = None,
        first: Any = None,
        last: Any = None,
        limit: int = USUAL_ROWS,
        after: str | None = None,
    ) -> dict[str, Any]:
        """What the state has for keys in order: those that begin with ``prefix``, or from ``first``
        up to but without ``last``. ``after`` is the ``next`` of an earlier answer."""
        if not 1 <= limit <= MOST_ROWS:
            raise QueryError(400, "bad_limit", f"limit is {limit}; it is from 1 to {MOST_ROWS}.")
        begin, end, within = _bounds(prefix, first, last)
        with self._seen() as seen:
            shape = self._shape(seen, name)
            about = seen.about(shape.state)
            start = begin if after is None else max(begin, _cursor(after) + b"\xff")
            bounds = (start, end, within)
            if isinstance(shape, Shape):
                found = self._between(seen, shape, bounds)
            else:
                found = shape.between(seen.txn, seen.moment, bounds)
            return {**about, **_page(found, limit)}

    def _between(
        self, seen: _Seen, shape: Shape, bounds: tuple[bytes, bytes, bytes]
    ) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """Rows of keys in order, each with its place."""
        start, end, within = bounds
        clock = seen.clock(shape)
        records = listed(seen.txn, shape.number, start)
        for place, same in groupby(records, lambda item: item[0][: length_of(item[0])]):
            if not place.startswith(within) or (end and place >= end):
                return
            pieces = [record for _, record in same]
            shown = shape.show(pieces, clock)
            if shown is not None:
                yield place, {"key": shape.key_of(pieces[0]), **shown}


def _page(found: Iterator[tuple[bytes, dict[str, Any]]], limit: int) -> dict[str, Any]:
    """So many rows, and where the next page begins if there are more."""
    rows = list(islice(found, limit))
    more = next(found, None) is not None
    last = base64.urlsafe_b64encode(rows[-1][0]).decode() if more else None
    return {"rows": [row for _, row in rows], "next": last}


def engine_key(told: Any) -> Any:
    """The engine's key for the JSON of a key."""
    try:
        key = freeze(key_from_json(told))
        form_of(key)
        return key
    except (ValueError, KeyTypeError) as failure:
        raise QueryError(400, "bad_key", f"The key cannot be read: {failure}.") from failure


def _without_key(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "key"}


def _bounds(prefix: str | None, first: Any, last: Any) -> tuple[bytes, bytes, bytes]:
    """Where a scan begins and ends, and how all places begin that it may find."""
    if prefix is not None:
        if first is not None or last is not None:
            raise QueryError(400, "bad_range", "A scan has a prefix, or from and to, not both.")
        within = text_beginning(prefix.encode("utf-8", "surrogatepass"))
        return within, b"", within
    given = [bound for bound in (first, last) if bound is not None]
    if not given:
        return b"", b"", b""
    if all(type(bound) is int for bound in given):
        begin, end = (b"" if bound is None else number_form(bound) for bound in (first, last))
        return begin or b"i", end, b"i"
    if all(type(bound) is str for bound in given):
        begin, end = (
            b"" if bound is None else text_beginning(bound.encode("utf-8", "surrogatepass"))
            for bound in (first, last)
        )
        return begin or b"s", end, b"s"
    raise QueryError(
        *(400, "bad_range"),
        "from and to are both whole numbers or both texts; other keys have no order to bound.",
    )


def _cursor(after: str) -> bytes:
    try:
        return base64.b64decode(after, altchars=b"-_", validate=True)
    except (ValueError, binascii.Error) as failure:
        raise QueryError(
            400, "bad_cursor", "after is not the 'next' of an earlier answer."
        ) from failure


def _described(state: QueryableState) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "name": state.name,
        "kind": state.kind,
        "uid": state.uid,
        "operator": state.operator,
    }
    if state.schema:
        row = decode_row(state.schema)
        shown["type"] = name_of(row.versions[-1])
        if row.lifetime:
            shown["time_to_live"] = row.lifetime
    return shown
