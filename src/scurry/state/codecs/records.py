"""Records: what lies in the store for one entry of a state.

A record holds its key too, so that tables can be listed and redistributed, and says in its first
byte how it is written: scalars as one MessagePack array; values of a declared type by msgspec;
everything else as a pickle. Except for the first version of scalars it names the version of the
state's schema it was written under, so that records of several versions lie side by side and old
ones are brought up to date as they are read.

Where a state has a time to live, the moment of the last write stands in front: whether a record has
expired can be told without looking into it, and a state may get a time to live, or lose it, while
it holds data.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from scurry.common.errors import StateError, shorten
from scurry.common.keys import freeze, thaw
from scurry.common.type_information import TypeInformation, describe
from scurry.state.codecs.declared import declared_type, scalar_type
from scurry.state.codecs.encoding import (
    IMMUTABLE,
    NULL,
    SCALARS,
    decode_key,
    encode,
    unknown_format,
    unstorable,
)
from scurry.state.codecs.encoding import decode as decode_one
from scurry.state.codecs.exactness import exactness
from scurry.state.codecs.pickles import dumps, loads_plain

_SCALARS, PICKLE, _TYPED, _LATER_SCALARS = 1, 2, 3, 5
STAMPED, MANY_STAMPS = 0xF1, 0xF2
_BIAS = 1 << 63
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode
_FIRST = bytes([_SCALARS])
_first_byte = itemgetter(0)
#: Records that are decoded as one array at most, and how such an array begins in MessagePack.
TOGETHER, _ARRAY = 1024, b"\xdc"
#: in front of a head that is a key and nothing else
_ONE = b"\x00"


class Stamped(NamedTuple):
    """A value with the time of its last write, None if it was written without one."""

    value: Any
    stamp: int | None


class OldVersion(NamedTuple):
    """How records of an earlier version of the schema are read."""

    one: Any = None
    many: Any = None
    #: given where the earlier version does not fit: makes a value of today out of plain data
    migrate: Callable[[Any], Any] | None = None


class RecordCodec:
    """Packs and unpacks the records of one state."""

    def __init__(
        self,
        name: str,
        info: TypeInformation | None = None,
        *,
        version: int = 0,
        older: Mapping[int, OldVersion] | None = None,
        stamped: bool = False,
    ) -> None:
        self.name = name
        self.info = info
        self.stamped = stamped
        self.version = version
        #: classes met in values of no declared type
        self.seen: set[type] = set()
        self._older = dict(older or {})
        self._scalar = scalar_type(info)
        self._declared = declared_type(info)
        self.typed = info is not None
        #: tells quickly that a value can be written as it is
        self.exact = _any if info is None else exactness(info)
        self._tag = version.to_bytes(2, "big")
        self._first = _FIRST if version == 0 else bytes([_LATER_SCALARS]) + self._tag

    # --- writing

    def conformed(self, key: Any, value: Any) -> Any:
        """``value`` as one of the declared type, to be written under ``key``: as it will be when it
        is read back. Raises :class:`StateError` if it is not of the type."""
        if value is None or value is NULL or self.info is None:
            return value
        head = (thaw(key),)
        if self._scalar is not None:
            return self._conforming(head, value)
        fault = self.info.check(value)
        if fault is not None:
            raise self._wrong(head, value, fault)
        if self._declared is None:
            return value if self.info.exact is None else self.info.exact(value)
        try:
            return self._declared.converted(value)
        except (msgspec.MsgspecError, TypeError, ValueError, OverflowError) as failure:
            raise self._wrong(head, value, str(failure)) from failure

    def pack(self, head: tuple[Any, ...], value: Any) -> bytes:
        """The record of ``value`` under ``head``, the key and whatever else leads to it."""
        if self.stamped:
            value, stamp = value
            record = self._pack(head, value)
            return record if stamp is None else _stamp(stamp) + record
        return self._pack(head, value)

    def _pack(self, head: tuple[Any, ...], value: Any) -> bytes:
        if value is NULL:
            return self._pickled(head, value)
        if self._declared is not None:
            return self._pack_declared(head, value, [value])
        kind = type(value)
        if self._scalar is not None and kind is not self._scalar and value is not None:
            value = self._conforming(head, value)
            kind = type(value)
        elif self.typed and self._scalar is None and not self.exact(value):
            # somebody may have changed it in place since it was written
            value = self.conformed(head[0], value)
        if kind in SCALARS:
            self.seen.add(kind)
            if SCALARS.issuperset(map(type, head)):
                try:
                    return self._first + _encode((*head, value))
                except (OverflowError, UnicodeEncodeError):
                    if self._scalar is not None:
                        self._conforming(head, value)
        return self._pickled(head, value)

    def pack_all(self, keys: list[Any], values: list[Any]) -> list[bytes | None]:
        """The records of many keys, None for values that are None."""
        kinds = set(map(type, values))
        if type(None) not in kinds and self._plain(kinds, keys):
            first = self._first
            try:
                return [first + _encode(pair) for pair in zip(keys, values, strict=True)]
            except (OverflowError, UnicodeEncodeError):
                pass
        pack = self.pack
        return [
            None if value is None else pack((key,), value)
            for key, value in zip(keys, values, strict=True)
        ]

    def pack_entries(
        self, keys: list[Any], entries: list[Any], values: list[Any], absent: Any
    ) -> list[bytes | None]:
        """The records of values that have a key and an entry before them, None for those that are
        ``absent``."""
        rows = zip(keys, entries, values, strict=True)
        if self._plain(set(map(type, values)), chain(keys, entries)):
            first = self._first
            try:
                return [first + _encode(row) for row in rows]
            except (OverflowError, UnicodeEncodeError):
                rows = zip(keys, entries, values, strict=True)
        pack = self.pack
        return [
            None if value is absent else pack((key, entry), value) for key, entry, value in rows
        ]

    def _plain(self, kinds: set[type], keys: Iterable[Any]) -> bool:
        """Whether values of these kinds under these keys are written as they are."""
        if self.stamped or self._declared is not None:
            return False
        if self._scalar is not None and kinds != {self._scalar}:
            return False
        if not (kinds <= SCALARS and SCALARS.issuperset(map(type, keys))):
            return False
        self.seen |= kinds
        return True

    def pack_many(self, head: tuple[Any, ...], values: list[Any]) -> bytes:
        """One record for several values under the same head."""
        if self.stamped:
            stamps = [value.stamp for value in values]
            record = self._pack_many(head, [value.value for value in values])
            return _stamp_many(stamps) + record
        return self._pack_many(head, values)

    def _pack_many(self, head: tuple[Any, ...], values: list[Any]) -> bytes:
        if self._declared is not None:
            return self._pack_declared(head, values, values)
        if self._scalar is not None:
            values = [
                v if type(v) is self._scalar or v is None else self._conforming(head, v)
                for v in values
            ]
        elif self.typed:
            values = [v if self.exact(v) else self.conformed(head[0], v) for v in values]
        kinds = set(map(type, values))
        self.seen |= kinds
        if kinds <= SCALARS and SCALARS.issuperset(map(type, head)):
            try:
                return self._first + _encode((*head, values))
            except (OverflowError, UnicodeEncodeError):
                if self._scalar is not None:
                    for value in values:
                        self._conforming(head, value)
        return self._pickled(head, values)

    def _pack_declared(self, head: tuple[Any, ...], content: Any, values: list[Any]) -> bytes:
        declared = self._declared
        assert declared is not None
        try:
            data = declared.encode(content)
            for value in values:
                one = data if content is value else declared.encode(value)
                fault = None if value is None else declared.fault(value, one)
                if fault is not None:
                    raise self._wrong(head, value, fault)
        except (TypeError, OverflowError, UnicodeEncodeError, AttributeError) as failure:
            fault = next(filter(None, map(declared.info.check, values)), str(failure))
            raise self._wrong(head, content, fault) from failure
        return bytes([_TYPED]) + self._tag + _with_length(_pack_head(head)) + data

    def _pickled(self, head: tuple[Any, ...], value: Any) -> bytes:
        try:
            data = dumps(value, self.seen)
        except Exception as failure:
            raise self._in_state(unstorable(value, failure)) from failure
        return bytes([PICKLE]) + self._tag + _with_length(_pack_head(head)) + data

    def _conforming(self, head: tuple[Any, ...], value: Any) -> Any:
        if value is None:
            return None
        assert self._scalar is not None
        assert self.info is not None
        fault = self.info.check(value)
        if fault is not None:
            raise self._wrong(head, value, fault)
        return str.__str__(value) if self._scalar is str else self._scalar(value)

    def _wrong(self, head: tuple[Any, ...], value: Any, fault: str) -> StateError:
        return self._in_state(
            f"key {shorten(head[0])} was given {describe(value)}, which is not of the declared "
            f"type: {fault}. Store a value of that type, or declare another in the descriptor."
        )

    def _in_state(self, what: Any) -> StateError:
        operator, _, state = self.name.partition("\x1f")
        return StateError(f"In operator '{operator}', state '{state}': {what}")

    # --- reading

    def unpack(self, record: bytes) -> Any:
        """The value of a record."""
        stamp = None
        if record[0] == STAMPED:
            stamp, record = _read_stamp(record), record[9:]
        value = self._read(record, many=False)
        return Stamped(value, stamp) if self.stamped else value

    def unpack_all(self, records: list[bytes | None]) -> list[Any]:
        """The values of many records, None for records that are not there."""
        unpack = self.unpack
        if self._as_they_are:
            return [
                _decode(record[1:])[1]
                if record and record[0] == _SCALARS
                else (None if record is None else unpack(record))
                for record in records
            ]
        return [None if record is None else unpack(record) for record in records]

    def unpack_entries(self, records: list[bytes]) -> Iterable[Sequence[Any]]:
        """Key, entry and value of each of the records, which :meth:`pack_entries` made. At most
        :data:`TOGETHER`: Python looks for garbage among lists that are alive at once."""
        if self._as_they_are and {_SCALARS}.issuperset(map(_first_byte, records)):
            # a first byte is a number in MessagePack, so that all of them are one array
            count = (2 * len(records)).to_bytes(2, "big")
            rows: list[Sequence[Any]] = _decode(b"".join((_ARRAY, count, *records)))[1::2]
            return rows
        return [(*head_of(record), self.unpack(record)) for record in records]

    @property
    def _as_they_are(self) -> bool:
        """Whether values of the plain form have only to be decoded."""
        return not self.stamped and self._scalar is None and self.version == 0

    def unpack_many(self, record: bytes) -> list[Any]:
        """The values of a record made by :meth:`pack_many`."""
        stamps, record = _read_stamps(record)
        values: list[Any] = self._read(record, many=True)
        if not self.stamped:
            return values
        shared = stamps if len(stamps) == len(values) else stamps * len(values)
        return list(map(Stamped, values, shared))

    def _read(self, record: bytes, many: bool) -> Any:
        form = record[0]
        if form == _SCALARS:
            value, version = _decode(memoryview(record)[1:])[-1], 0
        elif form == _LATER_SCALARS:
            value = _decode(memoryview(record)[3:])[-1]
            version = int.from_bytes(record[1:3], "big")
        elif form in (PICKLE, _TYPED):
            return self._read_long(form, record, many)
        else:
            raise self._in_state(unknown_format(record[:1]))
        if version != self.version and version in self._older:
            migrate = self._older[version].migrate
            if migrate is not None:
                return self._migrated(value, migrate, many)
        if self._scalar is float:
            if many:
                return [float(v) if type(v) is int else v for v in value]
            return float(value) if type(value) is int else value
        return value

    def _read_long(self, form: int, record: bytes, many: bool) -> Any:
        version = int.from_bytes(record[1:3], "big")
        data = memoryview(record)[7 + int.from_bytes(record[3:7], "big") :]
        old = None if version == self.version else self._older.get(version)
        try:
            if old is not None and old.migrate is not None:
                plain = loads_plain(data) if form == PICKLE else _decode(data)
                return self._migrated(plain, old.migrate, many)
            if form == PICKLE:
                return pickle.loads(data)
            decoder = (old.many if many else old.one) if old else None
            if decoder is None and self._declared is not None:
                decoder = self._declared.many if many else self._declared.one
            return (_decode if decoder is None else decoder.decode)(data)
        except (msgspec.ValidationError, AttributeError, ImportError, StateError) as failure:
            raise self._in_state(
                f"a stored value cannot be read: {failure}. If the type was changed, give the "
                "descriptor a function that converts old values, with migrate_with(...)."
            ) from failure

    def _migrated(self, value: Any, migrate: Callable[[Any], Any], many: bool) -> Any:
        try:
            return [migrate(item) for item in value] if many else migrate(value)
        except Exception as failure:
            raise self._in_state(
                f"the function given to migrate_with failed on {shorten(value)}: "
                f"{type(failure).__name__}: {failure}"
            ) from failure

    # --- asking

    def fixed(self, value: Any) -> bool:
        """Whether nobody can change ``value`` in place."""
        return type(value.value if self.stamped else value) in IMMUTABLE

    def plain(self, value: Any) -> Any:
        """The user's value."""
        return value.value if self.stamped and value is not None else value


def _any(value: Any) -> bool:
    return True


def head_of(record: bytes) -> tuple[Any, ...]:
    """The key of a record, and whatever else leads to its value."""
    record = _read_stamps(record)[1]
    if record[0] == _SCALARS:
        return tuple(_decode(memoryview(record)[1:])[:-1])
    if record[0] == _LATER_SCALARS:
        return tuple(_decode(memoryview(record)[3:])[:-1])
    end = 7 + int.from_bytes(record[3:7], "big")
    if record[7:8] == _ONE:
        return (decode_key(memoryview(record)[8:end]),)
    key, *rest = decode_one(memoryview(record)[7:end])
    return freeze(key), *rest


def renumbered(record: bytes, numbers: list[int]) -> bytes:
    """``record`` as one of version ``numbers[v]`` of its schema, where it was one of version v."""
    plain = _read_stamps(record)[1]
    form = plain[0]
    version = 0 if form == _SCALARS else int.from_bytes(plain[1:3], "big")
    if version >= len(numbers) or numbers[version] == version:
        return record
    stamps, tag = record[: len(record) - len(plain)], numbers[version].to_bytes(2, "big")
    if form == _SCALARS:
        return stamps + bytes([_LATER_SCALARS]) + tag + plain[1:]
    return stamps + plain[:1] + tag + plain[3:]


def stamp_bytes(stamp: int) -> bytes:
    """A stamp as it stands in a record: bytes sort as stamps do."""
    return (stamp + _BIAS).to_bytes(8, "big")


def _stamp(stamp: int) -> bytes:
    return bytes([STAMPED]) + stamp_bytes(stamp)


def _read_stamp(record: bytes) -> int:
    return int.from_bytes(record[1:9], "big") - _BIAS


def _stamp_many(stamps: list[int | None]) -> bytes:
    known = [stamp for stamp in stamps if stamp is not None]
    if len(known) < len(stamps) or not known:
        # a value that nobody stamped keeps the record from expiring as a whole
        return b""
    newest = max(known)
    if min(known) == newest:
        return _stamp(newest)
    each = b"".join(map(stamp_bytes, known))
    return bytes([MANY_STAMPS]) + stamp_bytes(newest) + len(known).to_bytes(4, "big") + each


def _read_stamps(record: bytes) -> tuple[list[int | None], bytes]:
    if record[0] == STAMPED:
        return [_read_stamp(record)], record[9:]
    if record[0] == MANY_STAMPS:
        end = 13 + 8 * int.from_bytes(record[9:13], "big")
        stamps: list[int | None] = [
            int.from_bytes(record[at : at + 8], "big") - _BIAS for at in range(13, end, 8)
        ]
        return stamps, record[end:]
    return [None], record


def _pack_head(head: tuple[Any, ...]) -> bytes:
    return _ONE + encode(head[0]) if len(head) == 1 else encode(head)


def _with_length(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data
