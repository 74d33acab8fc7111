"""The view: the queryable states of a job as of its last committed micro-batch, in LMDB.

One transaction makes all changes of a micro-batch, together with its number and the watermarks
after it. Readers are in another process; each of their transactions sees one committed micro-batch
as a whole, whatever is written meanwhile. Nothing is synced to disk: a view that is lost is filled
again.

A view lies in a directory of the driver's machine::

    view.json     what a reader has to know: the job, whether it runs, which LMDB counts
    3/            the LMDB that counts; a view that is filled anew gets another one
    driver.lock   held by the driver as long as it lives
    server.lock   held by the process that answers queries

Records are those that slots write, under ``table-number + place``. The place of a state's record is
ordered by key (:mod:`scurry.engine.queryable.ordered`). Tables of windows may have records with
many keys in them: they are kept as they are, by slot.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

import lmdb
import msgspec

from scurry.engine.queryable.ordered import PlaceForm, many_place, placed, single_place
from scurry.state.codecs.records import MANY_STAMPS, STAMPED, stamp_bytes
from scurry.state.codecs.schemas import decode_row
from scurry.state.feeds import WINDOWS, Feed, QueryableState
from scurry.state.journal import Group, stored_keys

_META, _STATES = b"\x00meta", b"\x00states"
_FIRST_MAP_BYTES = 64 << 20
#: Kinds of states that have one record for each key.
SINGLE = frozenset({"ValueState", "ReducingState", "AggregatingState"})
#: Records of a state with a time to live that are looked at after each micro-batch.
_SWEPT = 2000
STATUS = "view.json"
#: What the job does, as the status says it; or how it has ended.
RUNNING, RESTARTING = "running", "restarting"


class ViewStatus(msgspec.Struct, frozen=True):
    """What ``view.json`` says."""

    job_id: str
    name: str
    parallelism: int
    max_parallelism: int
    #: ``running``, ``restarting``, or how the job ended
    state: str
    #: since when that is so, in milliseconds since 1970
    since: int
    #: the number of the LMDB that counts; -1 if there is none yet
    current: int = -1
    #: where the modules of the program are found
    sys_path: tuple[str, ...] = ()
    #: why the view is not kept up to date, if it is not
    trouble: str = ""
    version: int = 1


class Moment(msgspec.Struct, array_like=True):
    """The micro-batch that a view shows."""

    batch: int
    #: processing time of the micro-batch
    now: int
    #: by operator
    watermarks: dict[str, int]
    #: grows when ``Known`` changes
    known: int = 0


class Known(msgspec.Struct, array_like=True):
    """The states that a view has."""

    states: dict[str, QueryableState] = {}
    #: by table: the bytes that its keys begin with
    numbers: dict[str, bytes] = {}


_moments = msgspec.msgpack.Decoder(Moment)
_known = msgspec.msgpack.Decoder(Known)
_encode = msgspec.msgpack.Encoder().encode
#: Addresses and records of one table.
_Written = tuple[list[bytes], list[bytes]]


class ViewWriter:
    """Writes the LMDB in the directory ``place``, which must not exist."""

    def __init__(self, place: Path) -> None:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(mode=0o700, parents=True)
        self.place = place
        self.known = Known({}, {})
        self._version = 0
        #: where the search for expired records goes on, by state
        self._swept: dict[str, bytes] = {}
        self._env = _open(place, readonly=False)

    def apply(self, feeds: Iterable[Feed], directory: Path | None, moment: Moment) -> None:
        """Make the changes of a micro-batch, all or none; files of feeds lie in ``directory``."""
        self._learn(feeds)
        moment.known = self._version
        while True:
            try:
                with self._env.begin(write=True) as txn:
                    for feed in feeds:
                        for piece in feed.pieces:
                            self._put(txn, feed.slot, piece.changes(directory))
                    self._sweep(txn, moment)
                    txn.put(_STATES, _encode(self.known))
                    txn.put(_META, _encode(moment))
                return
            except lmdb.MapFullError:
                self._env.set_mapsize(self._env.info()["map_size"] * 2)

    def _learn(self, feeds: Iterable[Feed]) -> None:
        for state in (state for feed in feeds for state in feed.states):
            before = self.known.states.get(state.name)
            # a slot that held nothing when the type changed knows fewer versions of it
            if before is None or _versions(state) >= _versions(before):
                self.known.states[state.name] = state
                self._version += before != state
            for table in state.tables:
                number = (len(self.known.numbers) + 1).to_bytes(2, "big")
                self.known.numbers.setdefault(table, number)

    def _put(self, txn: lmdb.Transaction, slot: int, changes: list[Group]) -> None:
        kinds = {t: state.kind for state in self.known.states.values() for t in state.tables}
        written: dict[str, _Written] = {}
        for table, keys, records in changes:
            if None in records:
                gone = [key for key, record in zip(keys, records, strict=True) if record is None]
                self._remove(txn, slot, table, kinds[table], gone)
                kept = zip(keys, records, strict=True)
                keys = [key for key, record in kept if record is not None]
            held = written.setdefault(table, ([], []))
            held[0].extend(keys)
            held[1].extend(record for record in records if record is not None)
        with txn.cursor() as cursor:
            for table, (keys, found) in written.items():
                begin, form = self._form(table, kinds[table], slot)
                cursor.putmulti(placed(begin, form, stored_keys(keys), found))

    def _remove(
        self, txn: lmdb.Transaction, slot: int, table: str, kind: str, keys: list[bytes]
    ) -> None:
        begin, form = self._form(table, kind, slot)
        for key, stored in zip(keys, stored_keys(keys), strict=True):
            if kind not in SINGLE and _is_whole(kind, key):
                _remove_below(txn, begin + form(stored))
            else:
                txn.delete(begin + form(stored))

    def _form(self, table: str, kind: str, slot: int) -> tuple[bytes, PlaceForm]:
        """What the places of a table begin with, and what makes the rest out of an address."""
        number = self.known.numbers[table]
        if kind == WINDOWS:
            return number + slot.to_bytes(2, "big"), bytes
        return number, single_place if kind in SINGLE else many_place

    def _sweep(self, txn: lmdb.Transaction, moment: Moment) -> None:
        """Remove some records that have expired: slots that merge their files do not tell."""
        for name, state in self.known.states.items():
            row = decode_row(state.schema) if state.schema else None
            if row is None or not row.lifetime:
                continue
            clock = moment.watermarks.get(state.uid) if row.event_time else moment.now
            if clock is None:
                continue
            limit = stamp_bytes(max(clock - row.lifetime, -(1 << 63)))
            number = self.known.numbers[state.tables[0]]
            start = self._swept.get(name, number)
            found = list(islice(listed(txn, number, start[len(number) :]), _SWEPT + 1))
            for place, record in found[:_SWEPT]:
                if record[0] in (STAMPED, MANY_STAMPS) and record[1:9] <= limit:
                    txn.delete(number + place)
            self._swept[name] = number + found[-1][0] if len(found) > _SWEPT else number

    def close(self, erase: bool) -> None:
        """Release the LMDB; with ``erase`` delete it."""
        self._env.close()
        if erase:
            shutil.rmtree(self.place, ignore_errors=True)


def _versions(state: QueryableState) -> int:
    return len(decode_row(state.schema).versions) if state.schema else 0


def _is_whole(kind: str, address: bytes) -> bool:
    """Whether the address is that of a key, and stands for all records below it."""
    return kind != WINDOWS and len(address) == 4 + int.from_bytes(address[2:4], "big")


def _remove_below(txn: lmdb.Transaction, prefix: bytes) -> None:
    with txn.cursor() as cursor:
        there = cursor.set_range(prefix)
        while there and bytes(cursor.key()).startswith(prefix):
            there = cursor.delete()


def listed(
    txn: lmdb.Transaction, prefix: bytes, start: bytes = b""
) -> Iterator[tuple[bytes, bytes]]:
    """Everything under ``prefix``, which is left out of the keys, from ``start`` on."""
    with txn.cursor() as cursor:
        if cursor.set_range(prefix + start):
            for place, record in cursor:
                key = bytes(place)
                if not key.startswith(prefix):
                    return
                yield key[len(prefix) :], bytes(record)


class ViewReader:
    """Reads the LMDB in the directory ``place``, while another process writes it."""

    def __init__(self, place: Path) -> None:
        self._env = _open(place, readonly=True)
        self._version = -1
        self._states: Known = Known({}, {})

    def begin(self) -> lmdb.Transaction:
        """A transaction that sees one micro-batch."""
        try:
            return self._env.begin()
        except lmdb.MapResizedError:
            self._env.set_mapsize(0)
            return self._env.begin()

    def moment(self, txn: lmdb.Transaction) -> Moment:
        """The micro-batch that a transaction sees."""
        found = txn.get(_META)
        assert found is not None
        return _moments.decode(found)

    def known(self, txn: lmdb.Transaction, moment: Moment) -> Known:
        """The states that there are."""
        if moment.known != self._version:
            found = txn.get(_STATES)
            assert found is not None
            self._states = _known.decode(found)
            self._version = moment.known
        return self._states

    def close(self) -> None:
        """Release the LMDB."""
        self._env.close()


def _open(place: Path, readonly: bool) -> lmdb.Environment:
    return lmdb.open(
        str(place),
        map_size=0 if readonly else _FIRST_MAP_BYTES,
        readonly=readonly,
        create=not readonly,
        sync=False,
        metasync=False,
        writemap=not readonly,
        meminit=False,
        readahead=not readonly,
        max_readers=64,
        subdir=True,
    )


def write_status(directory: Path, status: ViewStatus) -> None:
    """Have readers see ``status``."""
    draft = directory / f"{STATUS}.draft"
    draft.write_bytes(msgspec.json.encode(status))
    draft.replace(directory / STATUS)


def read_status(directory: Path) -> ViewStatus:
    """What the driver has written last."""
    return msgspec.json.decode((directory / STATUS).read_bytes(), type=ViewStatus)


def watermarks_of(reports: Iterable[Mapping[str, Mapping[str, int]]]) -> dict[str, int]:
    """The lowest watermark of each operator, of what tasks report."""
    found: dict[str, int] = {}
    for report in reports:
        for uid, mark in report["watermarks"].items():
            found[uid] = min(mark, found.get(uid, mark))
    return found
