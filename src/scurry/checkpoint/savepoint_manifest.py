"""What a savepoint says of itself, ``savepoint.json``.

The file is written last, so a directory with it holds a whole savepoint, and one without it holds
none. It has what people want to know (job, positions of sources, operators and their states, what
sinks have committed, versions) and, for each other file, its size and a checksum. Paths in it are
relative: the directory can be moved, copied and renamed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from scurry.checkpoint.copies import link_or_copy
from scurry.checkpoint.layout import Layout
from scurry.checkpoint.stored import CheckpointContents
from scurry.common.any_paths import AnyPath, ObjectPath, files_below
from scurry.common.errors import StateError

#: The version of ``savepoint.json``; what lies beside it has the format of checkpoints.
FORMAT = 1
CHECKSUM = "sha256"
#: The object that shows, in an object store, that a savepoint is being made or removed; its content
#: is the time, in seconds since 1970.
UNFINISHED = "unfinished"
#: Files whose checksums are made at the same time; the hash lets other threads run.
_AT_ONCE = 4
#: How many damaged files a message names.
_SHOWN = 10


class StoredFile(msgspec.Struct, frozen=True):
    """One file of a savepoint."""

    bytes: int
    checksum: str


class GraphNode(msgspec.Struct, frozen=True):
    """A source or operator of the job that a savepoint was taken of."""

    uid: str
    name: str
    #: the stage it ran in; 0 is the ingress
    stage: int
    parallelism: int
    #: the uids of those that got its records
    feeds: list[str]


class SavepointManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a savepoint is."""

    savepoint_id: str
    #: when it was taken, in milliseconds since 1970
    taken: int
    #: whether the job was stopped with it, and whether its event time had been brought to an end
    stopped: bool = False
    drained: bool = False
    #: what is in it; ``directory`` and ``disk`` are those of the checkpoint it was taken of
    contents: CheckpointContents
    #: the job, empty if the savepoint was taken while it did not run
    graph: list[GraphNode] = []
    #: by path, relative to the savepoint
    files: dict[str, StoredFile] = {}
    format: int = FORMAT

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(file.bytes for file in self.files.values())


class _Format(msgspec.Struct):
    format: int


def is_savepoint(place: AnyPath) -> bool:
    """Whether there is a whole savepoint in ``place``."""
    return Layout(place).savepoint.is_file()


def read_manifest(place: AnyPath) -> SavepointManifest:
    """What the savepoint in ``place`` says of itself; raises :class:`StateError` if there is none,
    or one that this version of Scurry cannot read."""
    path = Layout(place).savepoint
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise StateError(_no_savepoint(place)) from None
    try:
        found = msgspec.json.decode(content, type=_Format).format
        if found != FORMAT:
            raise StateError(
                f"The savepoint in {place} has format {found}; this version of Scurry reads format "
                f"{FORMAT}. Use the version of Scurry that took it."
            )
        return msgspec.json.decode(content, type=SavepointManifest)
    except msgspec.MsgspecError as failure:
        raise StateError(
            f"The savepoint in {place} is damaged: {path.name} cannot be read ({failure}). Put the "
            "file back, or use another savepoint."
        ) from failure


def _no_savepoint(place: AnyPath) -> str:
    if not place.exists():
        return f"There is no savepoint in {place}: the directory does not exist."
    what = "There is no savepoint.json in it, which is written when a savepoint is whole."
    if Layout(place).manifest.exists():
        what = (
            "It is a checkpoint, or a savepoint that is not whole: savepoint.json, which is written"
            " last, is not there. To go on with a checkpoint give it as"
            " execution.checkpointing.dir; to make a savepoint of it use `scurry savepoint create`."
        )
    return f"{place} is not a savepoint. {what}"


def relative_files(place: AnyPath) -> list[str]:
    """The paths of all files below ``place`` but the manifest itself and the mark of one that is
    not finished, relative to it."""
    left_out = {Layout(place).savepoint.name, UNFINISHED}
    return sorted(path for path, _ in files_below(place) if path not in left_out)


def file_records(place: AnyPath) -> dict[str, StoredFile]:
    """Sizes and checksums of all files below ``place``."""
    paths = relative_files(place)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return dict(zip(paths, pool.map(_record, (place / path for path in paths)), strict=True))


def _record(path: AnyPath) -> StoredFile:
    if isinstance(path, ObjectPath):
        content = path.read_bytes()
        return StoredFile(len(content), hashlib.new(CHECKSUM, content).hexdigest())
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, CHECKSUM)
        return StoredFile(file.tell(), digest.hexdigest())


def damages(place: AnyPath, manifest: SavepointManifest) -> list[str]:
    """What is wrong with the files of a savepoint, one line for each; empty if they are whole."""
    paths = sorted(manifest.files)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = pool.map(lambda path: _damage(place, path, manifest.files[path]), paths)
        return [line for line in found if line]


def _damage(place: AnyPath, path: str, expected: StoredFile) -> str:
    if not _is_inside(path):
        return f"{path} is not a path inside the savepoint"
    try:
        found = _record(place / path)
    except OSError as failure:
        return f"{path} cannot be read: {failure.strerror or failure}"
    if found.bytes != expected.bytes:
        return f"{path} has {found.bytes} bytes, and should have {expected.bytes}"
    return "" if found == expected else f"{path} has other content than was written"


def _is_inside(path: str) -> bool:
    return not os.path.isabs(path) and ".." not in Path(path).parts


def check_there(place: AnyPath, manifest: SavepointManifest) -> None:
    """Raise :class:`StateError`, naming the files, if some of the savepoint in ``place`` are
    missing; what is in the others is not looked at."""
    there = set(relative_files(place))
    lost = [f"{path} is missing" for path in sorted(manifest.files) if path not in there]
    if lost:
        raise damaged(place, lost)


def check_whole(place: AnyPath, manifest: SavepointManifest) -> None:
    """Raise :class:`StateError`, naming the files, if the savepoint in ``place`` is damaged."""
    found = damages(place, manifest)
    if found:
        raise damaged(place, found)


def damaged(place: AnyPath, found: list[str]) -> StateError:
    """What to raise if the savepoint in ``place`` is damaged as the lines ``found`` say."""
    return StateError("\n".join(_refusal(place, found)))


def _refusal(place: AnyPath, found: list[str]) -> Iterator[str]:
    yield f"The savepoint in {place} is damaged:"
    yield from (f"  - {line}" for line in found[:_SHOWN])
    if len(found) > _SHOWN:
        yield f"  and {len(found) - _SHOWN} more"
    yield "Put the files back, or use another savepoint or a copy of this one."


def copy_files(place: Path, into: Path, files: dict[str, StoredFile], gently: bool) -> None:
    """Have the files of a savepoint in another directory, too, linked where that is possible;
    ``gently`` if a job may be at work on the same disk."""
    into.mkdir(mode=0o700, parents=True)
    for directory in sorted({str(Path(path).parent) for path in files}):
        (into / directory).mkdir(parents=True, exist_ok=True)
    rooms = f"{Layout(place).rooms.name}/"

    def take(path: str) -> None:
        # what a source or sink keeps for itself may be changed in place
        if path.startswith(rooms):
            shutil.copyfile(place / path, into / path)
        else:
            link_or_copy(place / path, into / path, gently)

    with ThreadPoolExecutor(1 if gently else _AT_ONCE) as pool:
        list(pool.map(take, files))
