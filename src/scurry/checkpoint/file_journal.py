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

import zlib

import msgspec

from scurry.common.advice import WAYS_OUT
from scurry.common.any_paths import AnyPath, names_in, remove_files
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
    the module says; ``stored`` is what the last epoch knows of the journal, None if nothing;
    ``before`` is what this process knew of it when it had to do with it last."""

    def __init__(
        self,
        place: AnyPath,
        runs: AnyPath,
        token: str,
        stored: StoredHead | None,
        before: StoredHead | None = None,
    ) -> None:
        self._place = place
        self._runs = runs
        self._token = token
        self._head = None if stored is None else stored.head
        self._tokens = [] if stored is None else [(first, name) for first, name in stored.tokens]
        self._before = before
        self._made = False
        #: entries that there are files of, None before anybody has looked
        self._names: dict[str, int] | None = None

    @property
    def stored(self) -> StoredHead | None:
        """What an epoch has to know of the journal as it is now."""
        if self._head is None:
            return None
        return StoredHead(self._head, list(self._tokens))

    def adopt(self, stored: StoredHead) -> None:
        """A copy of this process has written to the journal, which is now as ``stored`` says."""
        self._head = stored.head
        self._tokens = [(first, name) for first, name in stored.tokens]
        self._made, self._names = True, None

    @property
    def runs(self) -> AnyPath:
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
        path = self._path(seq, self._token)
        path.write_bytes(content)
        if self._names is not None:
            self._names[path.name] = seq

    def read(self, seq: int) -> bytes:
        path = self._path(seq, _token_at(self._tokens, seq))
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

    def extends(self, known: Head) -> bool:
        """Whether the tokens of all entries that both heads have are the same."""
        before, head = self._before, self.head()
        if before is None or head is None or head.first >= known.next:
            return False
        if decode_head(before.head).lineage != known.lineage:
            return False
        changes = {first for first, _ in (*before.tokens, *self._tokens)}
        places = {head.first, *(at for at in changes if head.first < at < known.next)}
        return all(_token_at(before.tokens, at) == _token_at(self._tokens, at) for at in places)

    def remove(self, seq: int) -> None:
        # the epoch before this one may still need it; see drop_before
        pass

    def drop_before(self, seq: int) -> None:
        if self._names is None:
            # attempts that failed have left files too; all later ones are this journal's own
            self._names = entries_in(self._place)
        gone = [name for name, number in self._names.items() if number < seq]
        remove_files(self._place / name for name in gone)
        for name in gone:
            del self._names[name]

    def _path(self, seq: int, token: str) -> AnyPath:
        return self._place / f"{seq:012d}-{token}"


def _token_at(tokens: list[tuple[int, str]], seq: int) -> str:
    return next((name for first, name in reversed(tokens) if first <= seq), "")


def entries_in(place: AnyPath) -> dict[str, int]:
    """The names of the files of entries in the directory ``place``, which need not exist, with the
    numbers that they begin with."""
    # a file system may have names of its own there
    names = (name for name in names_in(place) if name[0].isdigit())
    return {name: int(name.partition("-")[0]) for name in names}


def drop_entries(place: AnyPath, seq: int) -> None:
    """Delete the files of entries before ``seq`` from the directory ``place``."""
    old = (name for name, number in entries_in(place).items() if number < seq)
    remove_files(place / name for name in old)
