"""The state that slots begin with after a job was rescaled, as files of the new generation.

Each new slot has a directory with these files: one from each slot of the generation before that had
something for it, with the journal entries that the new slot gets; and one called ``start``, with a
last entry (the tables that had to be gathered from all slots before they could be dealt out) and
what belongs into the journal's head.

In its first micro-batch a slot, whose journal is empty, copies all of that into its journal. Once
the micro-batch is committed, the files are not needed any more.
"""

from __future__ import annotations

import io
import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import msgspec

from scurry.checkpoint.layout import Home, draft_of
from scurry.common.any_paths import AnyPath, ObjectPath, names_in
from scurry.common.errors import StateError
from scurry.runtime.rescaling import SlotStart
from scurry.state.journal import Head, Journal
from scurry.state.rescaling import Place, take_in

_START = "start"
_starts = msgspec.msgpack.Decoder(SlotStart)


class InitialState:
    """What one slot of one stage begins with, in the directory ``place``."""

    def __init__(self, place: AnyPath) -> None:
        self.place = place

    def write_start(self, start: SlotStart) -> None:
        """Write the file ``start``. Called when all slots of the generation before have written
        their shares."""
        self.place.mkdir(parents=True, exist_ok=True)
        with ShareWriter(self, _START) as file:
            file.append(msgspec.msgpack.encode(start))

    def fill(self, journal: Journal) -> Head:
        """Copy this state into ``journal``, which is empty, and return the journal's head."""
        start = self.start()
        large = start.bulky, start.ranged
        return take_in(journal, self.entries(start), start.base, start.notes, *large)

    def start(self) -> SlotStart:
        """What the file ``start`` says."""
        return _starts.decode(b"".join(_blobs(self.place / _START)))

    def entries(self, start: SlotStart) -> Iterator[bytes]:
        """The entries of the slot's journal."""
        shares = [name for name in names_in(self.place) if name.isdigit()]
        for name in sorted(shares, key=int):
            yield from _blobs(self.place / name)
        yield start.entry


def share_name(stage: int, slot: int) -> str:
    """What the file is called with a slot's share of what slot ``slot`` of ``stage`` had."""
    return f"{stage}{slot:06d}"


class ShareWriter:
    """Writes a file of blobs. The file appears under its name when it is complete; if several
    processes write it, each replaces it by the same content."""

    def __init__(self, state: InitialState, name: str) -> None:
        self._path = state.place / name
        self._path.parent.mkdir(parents=True, exist_ok=True)
        #: None in an object store, which gets the whole file at once
        self._draft: Path | None = None
        if isinstance(self._path, Path):
            self._draft = draft_of(self._path, uuid.uuid4().hex)
            self._file: IO[bytes] = self._draft.open("wb")
        else:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by finish

    def __enter__(self) -> ShareWriter:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            self.finish()
        else:
            self._file.close()
            if self._draft is not None:
                self._draft.unlink(missing_ok=True)

    def append(self, blob: bytes) -> None:
        """Write one more blob."""
        self._file.write(len(blob).to_bytes(8, "big") + blob)

    def finish(self) -> None:
        """Give the file its name: it is complete."""
        self._file.flush()
        if isinstance(self._path, ObjectPath):
            self._file.seek(0)
            self._path.write_bytes(self._file.read())
        else:
            os.fsync(self._file.fileno())
        self._file.close()
        if self._draft is not None and isinstance(self._path, Path):
            self._draft.replace(self._path)


class Shares(ExitStack):
    """What the new slots get of the journal of ``origin``: a file for each that gets something."""

    def __init__(self, new: Home, origin: Place) -> None:
        super().__init__()
        self._new = new
        self._origin = origin
        self._writers: dict[Place, ShareWriter] = {}

    def append(self, place: Place, blob: bytes) -> None:
        """Give ``blob`` to the slot ``place``."""
        writer = self._writers.get(place)
        if writer is None:
            state = InitialState(self._new.initial_state_of(*place))
            writer = self.enter_context(ShareWriter(state, share_name(*self._origin)))
            self._writers[place] = writer
        writer.append(blob)


def _blobs(path: AnyPath) -> Iterator[bytes]:
    try:
        with path.open("rb") if isinstance(path, Path) else io.BytesIO(path.read_bytes()) as file:
            while size := file.read(8):
                blob = file.read(int.from_bytes(size, "big"))
                if len(blob) < int.from_bytes(size, "big"):
                    raise OSError("it ends too early")
                yield blob
    except OSError as failure:
        raise StateError(
            f"{path}, state that was to be taken in after a change of the parallelism, cannot be "
            f"read: {failure}. It must be on a file system that the driver and all executors "
            "share, under the same path; if it is, somebody has deleted it, and the checkpoint is "
            "damaged."
        ) from failure
