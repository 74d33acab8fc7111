"""A slot's journal as files of the checkpoint, with its head in the epoch.

An engine that keeps nothing in Spark's state store has each slot write the entries of its journal
as files, in the slot's directory, and hand the head to the driver, which writes the heads of all
slots into the epoch. So a checkpoint is there, with all of its heads, from the moment at which its
epoch is; entries that no epoch leads to do not count.

A job that goes on from an epoch may write entries under numbers that were used before, by an
attempt that came further and failed. So the name of a file has a token in it, which is another one
in each attempt, and beside the head is written from which entry on which token counts.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import msgspec

from scurry.common.advice import WAYS_OUT
from scurry.common.errors import StateError
from scurry.state.journal import Head, Journal, decode_head, encode_head

_CHECKSUM = 4


class StoredHead(msgspec.Struct):
    """What an epoch knows of the journal of one slot."""

    #: the journal's head
    head: bytes
    #: from which entry on which token is in the names of the files
    tokens: list[tuple[int, str]]


def place_name(stage: int, slot: int) -> str:
    """By what an epoch calls a slot."""
    return f"{stage}-{slot}"


class FileJournal(Journal):
    """A slot's journal: entries in the directory ``place``, runs in ``runs``. What ``token`` is,
    the module says; ``stored`` is what the last epoch knows of the journal, None if nothing."""

    def __init__(self, place: Path, runs: Path, token: str, stored: StoredHead | None) -> None:
        self._place = place
        self._runs = runs
        self._token = token
        self._head = None if stored is None else stored.head
        self._tokens = [] if stored is None else [(first, name) for first, name in stored.tokens]
        self._made = False

    @property
    def stored(self) -> StoredHead | None:
        """What an epoch has to know of the journal as it is now."""
        if self._head is None:
            return None
        return StoredHead(self._head, list(self._tokens))

    @property
    def runs(self) -> Path:
        return self._runs

    def head(self) -> Head | None:
        return None if self._head is None else decode_head(self._head)

    def put_head(self, head: Head) -> None:
        self._head = encode_head(head)
        needed = [number for number, (first, _) in enumerate(self._tokens) if first <= head.first]
        self._tokens = self._tokens[needed[-1] if needed else 0 :]

    def append(self, seq: int, blob: bytes) -> None:
        if not self._made:
            self._place.mkdir(parents=True, exist_ok=True)
            self._made = True
        if not self._tokens or self._tokens[-1][1] != self._token:
            self._tokens.append((seq, self._token))
        content = zlib.crc32(blob).to_bytes(_CHECKSUM, "little") + blob
        self._path(seq, self._token).write_bytes(content)

    def read(self, seq: int) -> bytes:
        token = next((name for first, name in reversed(self._tokens) if first <= seq), "")
        path = self._path(seq, token)
        try:
            content = path.read_bytes()
            blob = content[_CHECKSUM:]
            if zlib.crc32(blob).to_bytes(_CHECKSUM, "little") != content[:_CHECKSUM]:
                raise OSError("its content is not what was written")
        except OSError as failure:
            raise StateError(
                f"The checkpoint is damaged, or not on a file system that all executors share: "
                f"{path} cannot be read ({failure}). Put the file back. {WAYS_OUT}"
            ) from failure
        return blob

    def remove(self, seq: int) -> None:
        # the epoch before this one may still need it; see drop_before
        pass

    def drop_before(self, seq: int) -> None:
        drop_entries(self._place, seq)

    def _path(self, seq: int, token: str) -> Path:
        return self._place / f"{seq:012d}-{token}"


def drop_entries(place: Path, seq: int) -> None:
    """Delete the files of entries before ``seq``, whose names begin with their numbers, from the
    directory ``place``, which need not exist."""
    try:
        names = os.listdir(place)
    except FileNotFoundError:
        return
    for name in names:
        # a file system may have names of its own there
        if name[0].isdigit() and int(name.partition("-")[0]) < seq:
            (place / name).unlink(missing_ok=True)
