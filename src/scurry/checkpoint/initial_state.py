"""The state that slots begin with after a job was rescaled, as files.

For each new slot there is a directory with a file of journal entries from every slot before, one
more with what was dealt out last, and a small one with the rest of the journal's head. A slot whose
journal is empty takes all of that in, in its first micro-batch; when that is committed, the files
have done their duty.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec

from scurry.common.errors import StateError
from scurry.runtime.rescaling import SlotStart
from scurry.state.journal import Head, Journal
from scurry.state.rescaling import take_in

_START = "start"
_starts = msgspec.msgpack.Decoder(SlotStart)


class InitialState:
    """What one slot of one stage begins with, below the directory ``root``."""

    def __init__(self, root: str, stage: int, slot: int) -> None:
        self.place = Path(root, str(stage), str(slot))

    def write_start(self, start: SlotStart) -> None:
        """All slots before have written their shares."""
        self.place.mkdir(parents=True, exist_ok=True)
        with ShareWriter(self, _START) as file:
            file.append(msgspec.msgpack.encode(start))

    def fill(self, journal: Journal) -> Head:
        """Make it the content of a journal that has none."""
        start = _starts.decode(b"".join(_blobs(self.place / _START)))
        large = start.bulky, start.ranged
        return take_in(journal, self._entries(start), start.base, start.notes, *large)

    def _entries(self, start: SlotStart) -> Iterator[bytes]:
        shares = [name for name in os.listdir(self.place) if name.isdigit()]
        for name in sorted(shares, key=int):
            yield from _blobs(self.place / name)
        yield start.entry


class ShareWriter:
    """Writes a file of blobs, which appears when it is complete, also if several try."""

    def __init__(self, state: InitialState, name: str) -> None:
        self._path = state.place / name
        self._draft = state.place / f"{name}.{uuid.uuid4().hex}.draft"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._draft.open("wb")

    def __enter__(self) -> ShareWriter:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            self.finish()
        else:
            self._file.close()
            self._draft.unlink(missing_ok=True)

    def append(self, blob: bytes) -> None:
        """Write one more blob."""
        self._file.write(len(blob).to_bytes(8, "big") + blob)

    def finish(self) -> None:
        """There are no more."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._draft.replace(self._path)


def _blobs(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
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
