"""Which files of a local store may be believed: generations and their seal.

Below a store's directory lies one directory per *generation*, each a whole LMDB environment, and a
small file, the *seal*. The seal names the generation in use and says what its data file looked
like when the last micro-batch ended: inode, size, time of change, and in which run of the
operating system. A data file that looks different was damaged, cut short, replaced, or left behind
by a process that died while writing; reading a memory-mapped file in such a state can return
anything or end the process, so it is not even opened. A new generation takes its place, invisible
to other processes until it is sealed.

The seal also counts how many micro-batches began and did not end. After three in a row the
generation is given up as well: damage nobody noticed may be what ends them.
"""

from __future__ import annotations

import functools
import os
import shutil
import uuid
from pathlib import Path

import msgspec

from scurry.state.local.secluded import is_secluded

_SEAL = "seal"
_SEAL_BYTES = 256
_MOST_FAILURES = 3
#: the data file's inode, size and time of change; the lock file's inode
Look = tuple[int, int, int, int]


class Seal(msgspec.Struct, array_like=True):
    """What the seal file says."""

    generation: str
    look: Look
    boot: str
    #: micro-batches that began since the last one that ended well
    begun: int = 0
    version: int = 1


_seals = msgspec.msgpack.Decoder(Seal)


class Generations:
    """The generations below ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._seal = str(root / _SEAL)
        #: the generation that the seal named when it was last read or written
        self._named = ""

    def trusted(self) -> Path | None:
        """The directory of the sealed generation, None if none can be believed. Counts as the
        beginning of a micro-batch."""
        seal = self._read()
        if seal is None or seal.boot != _boot() or seal.begun >= _MOST_FAILURES:
            return None
        place = self.root / seal.generation
        if look(place) != tuple(seal.look):
            return None
        seal.begun += 1
        self._write(seal)
        return place

    def fresh(self) -> Path:
        """A directory for a new generation, which nobody else knows."""
        place = self.root / f"g-{uuid.uuid4().hex[:12]}"
        place.mkdir(parents=True)
        return place

    def seal(self, place: Path) -> None:
        """A micro-batch has ended well with the generation at ``place``: believe it from now on,
        and delete all others but those that are secluded. Does nothing if another process has
        deleted it meanwhile."""
        seen = look(place)
        if seen is None:
            return
        others = self._named != place.name
        self._write(Seal(place.name, seen, _boot()))
        if others:
            for other in self.root.iterdir():
                if other.is_dir() and other != place and not is_secluded(other):
                    shutil.rmtree(other, ignore_errors=True)

    def break_seal(self) -> None:
        """Believe no generation any more."""
        self._named = ""
        (self.root / _SEAL).unlink(missing_ok=True)

    def _read(self) -> Seal | None:
        try:
            with open(self._seal, "rb", buffering=0) as file:
                content = file.read()
            seal = _seals.decode(content[2 : 2 + int.from_bytes(content[:2], "big")])
        except (OSError, msgspec.MsgspecError):
            return None
        self._named = seal.generation
        return seal

    def _write(self, seal: Seal) -> None:
        """In one call: a reader sees the old seal, the new one, or one that does not decode. The
        file keeps its length: some file systems sync a file that was truncated and written."""
        content = msgspec.msgpack.encode(seal)
        file = os.open(self._seal, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.write(file, (len(content).to_bytes(2, "big") + content).ljust(_SEAL_BYTES, b"\0"))
        finally:
            os.close(file)
        self._named = seal.generation


def look(place: Path) -> Look | None:
    """What the files of a generation look like from outside, None if one is missing."""
    try:
        data, lock = os.stat(f"{place}/data.mdb"), os.stat(f"{place}/lock.mdb")
    except OSError:
        return None
    return data.st_ino, data.st_size, data.st_mtime_ns, lock.st_ino


@functools.cache
def _boot() -> str:
    """Which run of the operating system this is: nothing is synced to disk, so no local store
    outlives it."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
