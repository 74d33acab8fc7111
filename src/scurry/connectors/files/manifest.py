"""What a file sink remembers: its manifest, and beside it lists of the part files it has published.

The manifest is written anew with every commit, so it must stay small. It names the part files
that were published last, each with the batches whose records it holds. When there are many of
these, they move to a list in a file of its own. The oldest lists are deleted: part files in them
can no longer be taken back.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec

from scurry.common.any_paths import create_whole
from scurry.common.errors import StateError
from scurry.common.new_files import NumberedDirectory
from scurry.functions.history import Mark

#: Pieces that a manifest holds before they move to a file.
_MOST_PIECES = 256
#: Files of pieces that are kept.
_MOST_FILES = 1000
_LISTED = "listed-"
#: What the same lists, and the manifest, were called before manifests had numbers.
_PUBLISHED, _MANIFEST = "published-", "manifest"
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
    #: the epoch of the lease of the driver that wrote it
    lease: int = 0

    @property
    def mark(self) -> Mark | None:
        """The mark of the last batch."""
        return Mark(self.batch, self.branch, self.changed or None) if self.batch >= 0 else None


class Superseded(Exception):
    """Somebody else has written a manifest since this one was loaded."""


class ManifestFile:
    """The manifests of one sink, on disk, of which the one with the greatest number counts.

    To replace the manifest is to create the next number. Of two drivers that try, one fails, and
    finds out before anything has happened that readers could see.
    """

    def __init__(self, place: Path) -> None:
        self._place = place
        self._files = NumberedDirectory(place / "manifests")
        self._number = 0
        #: the part files that the manifest of that number names
        self._saved: list[Part] = []

    @property
    def _newest(self) -> int:
        return max(self._files.numbers(), default=0)

    @property
    def changed(self) -> bool:
        """Whether somebody else has written it since it was loaded or saved here."""
        return self._newest != self._number

    def load(self) -> Manifest:
        """Read the one that counts."""
        self._number, content = self._content()
        found = Manifest(version=_VERSION) if content is None else self._decoded(content)
        self._saved = list(found.parts)
        return found

    def _content(self) -> tuple[int, bytes | None]:
        while number := self._newest:
            content = self._files.read(number)
            # otherwise somebody has created a newer one meanwhile
            if content is not None:
                return number, content
        try:
            return 0, (self._place / _MANIFEST).read_bytes()
        except FileNotFoundError:
            return 0, None

    def _decoded(self, content: bytes) -> Manifest:
        try:
            found = msgspec.json.decode(content, type=Manifest)
        except msgspec.DecodeError as failure:
            raise StateError(
                f"The manifest {self._number} in {self._place} is damaged ({failure}), so it is "
                "not known what the file sink has written. Restore it, or start the job anew with "
                "another checkpoint directory."
            ) from failure
        if found.version > _VERSION:
            raise StateError(
                f"The manifest {self._number} in {self._place} was written by a newer version of "
                f"Scurry: it has version {found.version}, this one reads versions up to "
                f"{_VERSION}. Use that version."
            )
        if found.version == 1:
            found.forgotten = (found.batch, "")
            for held in found.pending.values():
                held.origins = [found.forgotten] * len(held.segments)
        found.version = _VERSION
        return found

    def save(self, manifest: Manifest) -> None:
        """Let it count; raises :class:`Superseded` if it is not the newest that it replaces."""
        dropped: list[Path] = []
        if sum(len(part.pieces) for part in self._saved) > _MOST_PIECES:
            # what the manifest before names is certain, and the list has its number
            create_whole(self._list(self._number), msgspec.json.encode(self._saved))
            manifest.parts = manifest.parts[len(self._saved) :]
            dropped = self._lists(self._number + 1)[:-_MOST_FILES]
            if dropped:
                last = _read(dropped[-1])[-1].pieces[-1]
                manifest.forgotten = (last.batch, last.branch)
        number = self._number + 1
        created = self._files.create(number, msgspec.json.encode(manifest))
        # a number that others have created and removed could be created once more
        if not created or self._newest != number:
            raise Superseded
        self._number, self._saved = number, list(manifest.parts)
        self._files.remove(number - 2)
        if number == 1:
            self._refuse_earlier_versions()
        for path in dropped:
            path.unlink(missing_ok=True)

    def _refuse_earlier_versions(self) -> None:
        """Leave a manifest where an earlier version of Scurry looks for it, which refuses it."""
        draft = self._place / f"draft-{uuid.uuid4().hex}"
        draft.write_bytes(msgspec.json.encode({"version": _VERSION + 1}))
        draft.rename(self._place / _MANIFEST)

    def _list(self, number: int) -> Path:
        return self._place / f"{_LISTED}{number:012d}"

    def _lists(self, before: int) -> list[Path]:
        """The lists that belong to manifests before the number ``before``, in order."""
        numbered = sorted(self._place.glob(f"{_LISTED}[0-9]*[0-9]"))
        return [
            *sorted(self._place.glob(f"{_PUBLISHED}*")),
            *(path for path in numbered if int(path.name.removeprefix(_LISTED)) < before),
        ]

    def parts(self, manifest: Manifest) -> Iterator[Part]:
        """All part files that are known, in the order of their publication. Some may be gone."""
        for path in self._lists(self._number):
            yield from _read(path)
        yield from manifest.parts

    def forget_parts(self, manifest: Manifest, upto: BatchName) -> None:
        """Forget all part files, which are of batches up to ``upto``."""
        lists = self._lists(self._number + 1)
        manifest.parts, manifest.forgotten, self._saved = [], upto, []
        self.save(manifest)
        for path in lists:
            path.unlink(missing_ok=True)


def _read(path: Path) -> list[Part]:
    return msgspec.json.decode(path.read_bytes(), type=list[Part])
