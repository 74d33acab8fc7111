"""What a file sink remembers: its manifest, and beside it lists of the part files it has published.

The manifest is replaced whole with every commit, so it must stay small. It names the part files
that were published last, each with the batches whose records it holds. When there are many of
these, they move to a list in a file of its own. The oldest lists are deleted: part files in them
can no longer be taken back.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec

from scurry.common.errors import StateError
from scurry.functions.history import Mark

#: Pieces that a manifest holds before they move to a file.
_MOST_PIECES = 256
#: Files of pieces that are kept.
_MOST_FILES = 1000
_PUBLISHED = "published-"
#: 1 knew batches by their numbers alone, and did not know which part file is whose.
_VERSION = 2

#: A batch: its number, and the token of its branch.
BatchName = tuple[int, str]


class Pending(msgspec.Struct):
    """The segments of a bucket that are not in a part file yet."""

    segments: list[str] = []
    size: int = 0
    created: int = 0
    changed: int = 0
    #: the first micro-batch they hold records of
    batch: int = 0
    #: the micro-batch of each segment
    origins: list[BatchName] = []


class Piece(msgspec.Struct, array_like=True):
    """The records of one micro-batch in a part file."""

    batch: int
    branch: str
    #: where in the file they end, in the format's own measure; -1 if that is not known
    end: int = -1

    @property
    def mark(self) -> Mark:
        """The identity of the micro-batch."""
        return Mark(self.batch, self.branch)


class Part(msgspec.Struct, array_like=True):
    """A published part file, and what it holds, in order."""

    name: str
    pieces: list[Piece]


class Manifest(msgspec.Struct):
    """What a file sink remembers."""

    batch: int = -1
    #: number of the next part file
    number: int = 0
    pending: dict[str, Pending] = {}
    #: hidden file, and the part file that it is to become
    publish: list[tuple[str, str]] = []
    #: the directories of runs that may hold segments
    runs: list[str] = []
    version: int = 1
    #: the branch of the last batch, and when it was committed
    branch: str = ""
    changed: int = 0
    #: part files that were published lately
    parts: list[Part] = []
    #: part files that are to vanish
    withdraw: list[str] = []
    #: the last batch of whose part files nothing is known any more
    forgotten: BatchName = (-1, "")

    @property
    def mark(self) -> Mark | None:
        """The mark of the last batch."""
        return Mark(self.batch, self.branch, self.changed or None) if self.batch >= 0 else None


class ManifestFile:
    """The manifest of one sink, on disk."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._path = place / "manifest"
        self._known: tuple[int, int] | None = None

    def _stamp(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        return found.st_ino, found.st_mtime_ns

    @property
    def changed(self) -> bool:
        """Whether somebody else has written it since it was loaded or saved here."""
        return self._stamp() != self._known

    def load(self) -> Manifest:
        """Read it."""
        self._known = self._stamp()
        if self._known is None:
            return Manifest(version=_VERSION)
        try:
            found = msgspec.json.decode(self._path.read_bytes(), type=Manifest)
        except msgspec.DecodeError as failure:
            raise StateError(
                f"{self._path} is damaged ({failure}), so it is not known what the file sink has "
                "written. Restore it, or start the job anew with another checkpoint directory."
            ) from failure
        if found.version > _VERSION:
            raise StateError(
                f"{self._path} was written by a newer version of Scurry: it has version "
                f"{found.version}, this one reads versions up to {_VERSION}. Use that version."
            )
        if found.version == 1:
            found.forgotten = (found.batch, "")
            for held in found.pending.values():
                held.origins = [found.forgotten] * len(held.segments)
        found.version = _VERSION
        return found

    def save(self, manifest: Manifest) -> None:
        """Replace it."""
        dropped: list[Path] = []
        if sum(len(part.pieces) for part in manifest.parts) > _MOST_PIECES:
            name = f"{_PUBLISHED}{manifest.number:012d}"
            self._write(self._place / name, msgspec.json.encode(manifest.parts))
            manifest.parts = []
            dropped = self._files()[:-_MOST_FILES]
            if dropped:
                last = _read(dropped[-1])[-1].pieces[-1]
                manifest.forgotten = (last.batch, last.branch)
        self._write(self._path, msgspec.json.encode(manifest))
        self._known = self._stamp()
        for path in dropped:
            path.unlink(missing_ok=True)

    def _write(self, path: Path, content: bytes) -> None:
        draft = self._place / f"draft-{uuid.uuid4().hex}"
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)

    def _files(self) -> list[Path]:
        return sorted(self._place.glob(f"{_PUBLISHED}*"))

    @property
    def own(self) -> set[str]:
        """The names of the files that make up what the sink remembers."""
        return {"manifest", *(path.name for path in self._files())}

    def parts(self, manifest: Manifest) -> Iterator[Part]:
        """All part files that are known, in the order of their publication. Some may be gone."""
        for path in self._files():
            yield from _read(path)
        yield from manifest.parts

    def forget_parts(self, manifest: Manifest, upto: BatchName) -> None:
        """Forget all part files, which are of batches up to ``upto``."""
        files = self._files()
        manifest.parts, manifest.forgotten = [], upto
        self.save(manifest)
        for path in files:
            path.unlink(missing_ok=True)


def _read(path: Path) -> list[Part]:
    return msgspec.json.decode(path.read_bytes(), type=list[Part])
