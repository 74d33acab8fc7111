"""Large entries of a slot's log, as files in the job's directory.

Spark's state store is made for many small values. A large one goes through a socket, into RocksDB,
into its change log and into every snapshot, and all of them have to be loaded when a new JVM opens
the store. So a large entry is written to a file, and Spark keeps a reference to it. The file is
whole before Spark hears of it, and has a name of its own: a second attempt at the same work writes
another.
"""

from __future__ import annotations

import uuid
import zlib
from typing import NamedTuple

import msgspec

from scurry.checkpoint.file_journal import drop_entries
from scurry.common.advice import WAYS_OUT
from scurry.common.any_paths import AnyPath
from scurry.common.errors import StateError

#: How references begin; an entry begins with its length.
_MARK = b"\xff" * 8


class Reference(NamedTuple):
    """What has to be known of a file."""

    name: str
    size: int
    checksum: int


_references = msgspec.msgpack.Decoder(Reference)


class LogFiles:
    """The files of one slot, in the directory ``place``: entries of more than ``above`` bytes."""

    def __init__(self, place: AnyPath, above: int = 0) -> None:
        self._place = place
        self._above = above

    def keep(self, seq: int, entry: bytes) -> bytes:
        """What Spark is to keep of entry ``seq``: all of it, or a reference to a file."""
        if len(entry) <= self._above:
            return entry
        self._place.mkdir(parents=True, exist_ok=True)
        name = f"{seq:012d}-{uuid.uuid4().hex[:12]}"
        (self._place / name).write_bytes(entry)
        found = Reference(name, len(entry), zlib.crc32(entry))
        return _MARK + msgspec.msgpack.encode(found)

    def entry(self, kept: bytes) -> bytes:
        """The entry behind ``kept``, which :meth:`keep` returned."""
        if not kept.startswith(_MARK):
            return kept
        reference = _references.decode(kept[len(_MARK) :])
        path = self._place / reference.name
        try:
            entry = path.read_bytes()
            if (len(entry), zlib.crc32(entry)) != (reference.size, reference.checksum):
                raise OSError("its content is not what was written")
        except OSError as failure:
            raise StateError(
                f"The checkpoint is damaged, or not on a file system that all executors share: "
                f"{path} cannot be read ({failure}). Put the file back. {WAYS_OUT}"
            ) from failure
        return entry

    def drop_before(self, seq: int) -> None:
        """Delete the files of entries before ``seq``."""
        drop_entries(self._place, seq)
