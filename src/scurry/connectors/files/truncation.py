"""Taking back what a file sink has published: part files vanish, or are cut."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable
from pathlib import Path

from scurry.common.errors import OtherHistoryError
from scurry.common.serialization import BulkWriterFactory
from scurry.connectors.files.manifest import BatchName, Manifest, Part, Pending, Piece
from scurry.functions.history import History, Mark


def check_reach(manifest: Manifest, history: History, base: Path) -> None:
    """Raise if it is not known any more which part files are to be taken back."""
    batch, branch = manifest.forgotten
    if not history.holds(Mark(batch, branch)):
        raise OtherHistoryError(
            f"FileSink: files in {str(base)!r} can be taken back only as far as micro-batch "
            f"{batch}, and the checkpoint stands at {history.last}: of older files the sink does "
            "not know which micro-batch wrote them, or 'append' was chosen at that point. Remove "
            "by hand what is too much, and choose 'append'."
        )


def drop_pending(pending: dict[str, Pending], history: History, root: Path) -> None:
    """Take segments of other histories out of what waits to become part files."""
    for bucket, held in list(pending.items()):
        kept = [
            (segment, origin)
            for segment, origin in zip(held.segments, held.origins, strict=True)
            if history.holds(Mark(*origin))
        ]
        if not kept:
            del pending[bucket]
        elif len(kept) < len(held.segments):
            held.segments = [segment for segment, _ in kept]
            held.origins = [origin for _, origin in kept]
            held.size = sum((root / segment).stat().st_size for segment in held.segments)
            held.batch = held.origins[0][0]


class Withdrawal:
    """Finds out what has to happen to published part files, and prepares it, still hidden."""

    def __init__(self, factory: BulkWriterFactory, history: History, base: Path) -> None:
        self._factory = factory
        self._history = history
        self._base = base
        #: the part files to remove
        self.gone: list[str] = []
        #: hidden file, and the part file that it is to replace
        self.cut: list[tuple[str, str]] = []
        #: whether a batch that will be repeated is in a part file already
        self.pending_found = False

    def examine(self, parts: Iterable[Part], root: Path, place: str) -> None:
        """Go through all parts; hidden files go to ``place`` below ``root``."""
        awaited = self._history.mark(self._history.planned)
        cuts: list[tuple[str, Piece]] = []
        for part in parts:
            kept = [piece for piece in part.pieces if self._history.holds(piece.mark)]
            self.pending_found |= any(piece.mark == awaited for piece in kept)
            if len(kept) == len(part.pieces) or not (self._base / part.name).exists():
                continue
            if not kept:
                self.gone.append(part.name)
                continue
            if kept[-1].end < 0:
                raise OtherHistoryError(
                    f"FileSink: {str(self._base / part.name)!r} holds records of micro-batches "
                    f"{part.pieces[0].batch} to {part.pieces[-1].batch}, and the checkpoint stands "
                    f"at {self._history.last}. {type(self._factory).__name__} joins files and has "
                    "no cut(...) to take them apart. Mend the file by hand, and choose 'append'."
                )
            cuts.append((part.name, kept[-1]))
        for name, last in cuts:
            hidden = f"{place}/cut-{uuid.uuid4().hex}"
            self._factory.cut(self._base / name, last.end, root / hidden)
            with (root / hidden).open("rb") as file:
                os.fsync(file.fileno())
            self.cut.append((hidden, name))


def pieces_of(
    factory: BulkWriterFactory, segments: list[Path], origins: list[BatchName]
) -> list[Piece]:
    """What a part file holds that is made of ``segments``."""
    pieces: list[Piece] = []
    measured = len(set(origins)) > 1 and factory.can_cut
    end = 0
    for number, (segment, origin) in enumerate(zip(segments, origins, strict=True)):
        if measured:
            end += (len(factory.delimiter) if number else 0) + factory.measure(segment)
        if pieces and pieces[-1].mark == Mark(*origin):
            pieces.pop()
        pieces.append(Piece(*origin, end if measured else -1))
    return pieces
