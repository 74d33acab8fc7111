"""The journal, or log: the durable truth about a slot's state.

A journal is a sequence of numbered *entries* and a *head*. An entry is a blob of changes, each a
table, a key and the key's new record, which is None if the record was removed. Most entries are
what a slot changed in one micro-batch; others are live records that a compaction wrote again. The
head says which entries count, under which lineage the last commit was made, and which files hold
the large tables, which are not in the entries (:mod:`scurry.state.slot_records`).

A :class:`Journal` is where entries and head are stored. On Spark they are two variables in the
state store of the stage's operator; in the test harness they are a dict. Everything above that,
such as compaction and lineage, is the same in both (:mod:`scurry.state.slot_store`).
"""

from __future__ import annotations

import functools
import hashlib
import tempfile
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec
import pyarrow as pa

from scurry.common.any_paths import AnyPath
from scurry.state.runs.runs import TableInfo

Change = tuple[str, bytes, bytes | None]
#: Changes of one table: its name, keys, records.
Group = tuple[str, list[bytes], Sequence[bytes | None]]


class Head(msgspec.Struct, array_like=True):
    """The journal's head: which entries are alive, and the lineage of the last commit."""

    lineage: bytes
    first: int
    next: int
    snapshot_bytes: int
    log_bytes: int
    #: watermarks of the input channels and the like, opaque to the store
    notes: bytes
    version: int = 1
    #: a compaction under way: its first entry (-1: none), bytes written since it began, bytes of
    #: live records it has written, and where in the tables it goes on
    cycle: int = -1
    cycle_bytes: int = 0
    slice_bytes: int = 0
    cursor: tuple[str, bytes] = ("", b"")
    #: tables that were in runs before the job was rescaled; a rebuild puts them into runs again
    bulky: tuple[str, ...] = ()
    #: how many commits there were
    number: int = 0
    #: the first entry that was alive one commit ago
    floor: int = 0
    #: large tables, which are not in the log but in runs
    runs: dict[str, TableInfo] = {}
    #: runs that are of no more use, with the number of the commit that replaced them
    dead: list[tuple[int, str]] = []
    #: tables that were dropped, with the first entry of the log that counts for them again
    gone: dict[str, int] = {}
    #: like ``bulky``: tables whose keys have many records each
    ranged: tuple[str, ...] = ()

    def counts(self, seq: int, table: str) -> bool:
        """Whether the changes of ``table`` in entry ``seq`` still count. They do not if the table
        has become large since, and so is in runs, or if the entry is from before the table was
        dropped."""
        return table not in self.runs and seq >= self.gone.get(table, 0)


#: The longest key that a store takes.
LONGEST = 480


def stored_keys(keys: list[bytes]) -> list[bytes]:
    """:func:`stored_key` of many keys."""
    return list(map(stored_key, keys)) if max(map(len, keys), default=0) > LONGEST else keys


def stored_key(key: bytes) -> bytes:
    """``key`` as stores and journals have it: a key that is too long is replaced by its digest."""
    if len(key) <= LONGEST:
        return key
    return key[: LONGEST - 40] + b"\xff#" + hashlib.blake2b(key, digest_size=32).digest()


def is_whole(key: bytes) -> bool:
    """Whether a key of a store is what was asked to be stored, and not a digest of it."""
    cut = LONGEST - 40
    return len(key) != cut + 34 or key[cut : cut + 2] != b"\xff#"


class RecordReader(Protocol):
    """What tables need of the store below them."""

    def get(self, table: str, key: bytes) -> bytes | None:
        """A record, None if there is none."""

    def get_many(self, table: str, keys: list[bytes]) -> list[bytes | None]:
        """The records of many keys."""

    def scan(self, table: str, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Keys and records of a table, always in the same order, from the key ``start`` on."""


class Journal(ABC):
    """Durable storage of one slot's journal. What is written in a micro-batch counts once the
    micro-batch is committed: all of it, or nothing."""

    @property
    @abstractmethod
    def runs(self) -> AnyPath:
        """The directory of the slot's runs, which need not exist. A file in it counts if the head
        names it."""

    @abstractmethod
    def head(self) -> Head | None:
        """The head as of the last committed micro-batch, None for a slot without history."""

    @abstractmethod
    def put_head(self, head: Head) -> None:
        """Replace the head."""

    @abstractmethod
    def append(self, seq: int, blob: bytes) -> None:
        """Store an entry."""

    @abstractmethod
    def read(self, seq: int) -> bytes:
        """An entry stored earlier."""

    def extends(self, known: Head) -> bool:
        """Whether all entries that were alive under the head ``known`` of this process, and are
        now, are the same ones. False if that cannot be told."""
        return False

    @abstractmethod
    def remove(self, seq: int) -> None:
        """Forget an entry."""

    @abstractmethod
    def drop_before(self, seq: int) -> None:
        """Delete what is left of entries before ``seq`` beside the log, such as their files. Called
        when no attempt can ask for these entries any more, also after a crash."""


@functools.cache
def _scratch() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="scurry-runs-")


class MemoryJournal(Journal):
    """A journal in a dict, for tests and the harness; runs are files all the same."""

    def __init__(self, runs: Path | None = None) -> None:
        self.entries: dict[int, bytes] = {}
        self._head: bytes | None = None
        self._runs = runs

    def copied(self) -> MemoryJournal:
        """A journal with the same content, which changes on its own from now on."""
        made = MemoryJournal(self._runs)
        made.entries, made._head = dict(self.entries), self._head
        return made

    @property
    def runs(self) -> Path:
        if self._runs is None:
            self._runs = Path(_scratch().name, uuid.uuid4().hex)
        return self._runs

    def head(self) -> Head | None:
        return None if self._head is None else decode_head(self._head)

    def put_head(self, head: Head) -> None:
        self._head = encode_head(head)

    def append(self, seq: int, blob: bytes) -> None:
        self.entries[seq] = blob

    def read(self, seq: int) -> bytes:
        return self.entries[seq]

    def remove(self, seq: int) -> None:
        del self.entries[seq]

    def drop_before(self, seq: int) -> None:
        pass


_codec = pa.Codec("lz4")
_groups = msgspec.msgpack.Decoder(list[Group])
_table_of = itemgetter(0)
_heads = msgspec.msgpack.Decoder(Head)
_encoder = msgspec.msgpack.Encoder()
CHUNK_BYTES = 8 << 20
_AT_ONCE = 1000


def encode_head(head: Head) -> bytes:
    """Bytes of a head."""
    return _encoder.encode(head)


def decode_head(data: bytes) -> Head:
    """The head behind :func:`encode_head`'s bytes."""
    return _heads.decode(data)


def pack(groups: list[Group]) -> bytes:
    """Changes as one compressed blob, the content of an entry."""
    raw = _encoder.encode(groups)
    return len(raw).to_bytes(8, "little") + bytes(_codec.compress(raw, asbytes=True))


def unpack_groups(blob: bytes) -> list[Group]:
    """The changes that :func:`pack` made ``blob`` of; those of one table that followed each other
    are together."""
    size = int.from_bytes(blob[:8], "little")
    return _groups.decode(_codec.decompress(blob[8:], size, asbytes=True))


def grouped(changes: Iterable[Change]) -> Iterator[Group]:
    """``changes``, with those of one table that follow each other together."""
    for table, part in groupby(changes, _table_of):
        _, keys, records = zip(*part, strict=True)
        yield table, list(keys), list(records)


T = TypeVar("T")


def in_groups(changes: Callable[[T], Iterator[Change]]) -> Callable[[T], Iterator[Group]]:
    """A decorator for a method that yields single changes: it yields groups of them instead."""

    @functools.wraps(changes)
    def together(self: T) -> Iterator[Group]:
        return grouped(changes(self))

    return together


def chunked(groups: Iterable[Group]) -> Iterator[list[Group]]:
    """``groups`` in pieces of about :data:`CHUNK_BYTES`, each of which becomes an entry."""
    piece: list[Group] = []
    size = 0
    for table, keys, records in groups:
        for first in range(0, len(keys), _AT_ONCE):
            some = table, keys[first : first + _AT_ONCE], records[first : first + _AT_ONCE]
            piece.append(some)
            size += bytes_of(some)
            if size >= CHUNK_BYTES:
                yield piece
                piece, size = [], 0
    if piece:
        yield piece


def bytes_of(group: Group) -> int:
    """About how many bytes the changes of ``group`` take before compression."""
    _, keys, records = group
    return sum(map(len, keys)) + sum(map(len, filter(None, records))) + 8 * len(keys)


def append(journal: Journal, head: Head, blob: bytes) -> int:
    """Append an entry to the log, and count it in ``head``; how many bytes it has."""
    journal.append(head.next, blob)
    head.next += 1
    head.log_bytes += len(blob)
    head.cycle_bytes += len(blob)
    return len(blob)
