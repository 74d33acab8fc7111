"""Taking a savepoint: a copy of a checkpoint, whole, with a name, which nothing changes any more.

A savepoint is taken between two micro-batches, in two steps. First the checkpoint is *frozen*: its
files get second names in another directory, by links, and small ones are copied. That takes
milliseconds, and the job waits for it. Then the savepoint is *completed* while the job goes on:
checksums are made, files are copied if the savepoint is to lie on another file system, the manifest
is written, and the directory gets its name. A crash on the way leaves a directory without a
manifest, which nobody takes for a savepoint, and which ``scurry savepoint gc`` removes.

What is frozen is the last committed micro-batch, and the plan of the one after it if that was
already written: in a running job it never is, but a job that was killed may leave one, and its
sinks may have committed it.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from scurry.checkpoint.contents import read_contents
from scurry.checkpoint.copies import copy_room, link_runs, link_tree
from scurry.checkpoint.directory import JobDirectory
from scurry.checkpoint.layout import Layout
from scurry.checkpoint.manifest import ManifestFile
from scurry.checkpoint.savepoint_manifest import (
    GraphNode,
    SavepointManifest,
    StoredFile,
    copy_files,
    file_records,
    is_savepoint,
)
from scurry.checkpoint.stored import CheckpointContents
from scurry.checkpoint.takeover import take_over
from scurry.common.any_paths import AnyPath, is_url, write_whole
from scurry.common.errors import StateError
from scurry.common.fault_points import fault_point

#: How the names of directories begin in which savepoints are being made.
PARTIAL = ".savepoint-in-the-making-"


@dataclass(frozen=True)
class Wish:
    """What kind of savepoint is asked for."""

    #: the directory of the savepoint itself, which must not exist
    target: Path
    #: whether the job is to end with it, and whether event time is to be brought to its end before
    stop: bool = False
    drain: bool = False


@dataclass(frozen=True)
class Frozen:
    """A checkpoint as it was at one moment, not yet a savepoint."""

    wish: Wish
    #: where its files are
    place: Path
    contents: CheckpointContents
    graph: list[GraphNode]
    taken: int


def savepoint_path(directory: str, job_id: str, name: str = "") -> Path:
    """Where the next savepoint of a job is put that is to lie in ``directory``: under ``name``, or
    under one that nobody has used, as Flink makes it."""
    chosen = name or f"savepoint-{job_id[:6]}-{uuid.uuid4().hex[:12]}"
    if Path(chosen).name != chosen or chosen.startswith("."):
        raise StateError(
            f"{chosen!r} cannot be the name of a savepoint: it becomes the name of a directory, so "
            "it must not contain a slash, nor begin with a dot."
        )
    if is_url(directory):
        raise StateError(
            f"A savepoint cannot be written to {directory!r}: savepoints are written to a file "
            "system, and copied to an object store from there."
        )
    plain = directory.removeprefix("file://").removeprefix("file:")
    return Path(plain).expanduser().absolute() / chosen


def freeze(directory: JobDirectory, wish: Wish, graph: Sequence[GraphNode] = ()) -> Frozen:
    """Freeze the checkpoint in ``directory``, in which nothing is under way; raises
    :class:`StateError` if it cannot be done."""
    place = _partial_beside(directory, wish.target)
    try:
        _freeze_into(directory, Layout(place))
        contents = read_contents(str(place))
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    contents = msgspec.structs.replace(contents, directory=str(directory.root), disk={})
    fault_point("savepoint-frozen")
    return Frozen(wish, place, contents, list(graph), int(time.time() * 1000))


def draft_beside(target: Path) -> Path:
    """An empty directory in which a savepoint can be written that is to lie at ``target``."""
    return _partial_beside(None, target)


def complete_written(place: Path, target: Path) -> Path:
    """Make a savepoint of the checkpoint that was written to ``place``, a directory of
    :func:`draft_beside`; returns where it is."""
    contents = msgspec.structs.replace(read_contents(str(place)), directory="", disk={})
    return complete(Frozen(Wish(target), place, contents, [], int(time.time() * 1000)))


def _partial_beside(directory: JobDirectory | None, target: Path) -> Path:
    """An empty directory in which links to the files of the checkpoint can be made: beside the
    savepoint to be, if that is on the same file system, and in the checkpoint otherwise."""
    if os.path.lexists(target):
        raise StateError(
            f"The savepoint cannot be written to {target}: there is something of that name. "
            "Savepoints never replace anything; choose another name."
        )
    name = f"{PARTIAL}{uuid.uuid4().hex[:12]}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        place = target.parent
        if directory is not None and not _same_file_system(place, directory.root):
            place = directory.layout.frozen
        made = place / name
        made.mkdir(mode=0o700, parents=True)
    except OSError as failure:
        raise StateError(
            f"The savepoint cannot be written to {target}: {failure.strerror or failure} "
            f"({failure.filename})."
        ) from failure
    return made


def _same_file_system(place: Path, root: AnyPath) -> bool:
    return isinstance(root, Path) and place.stat().st_dev == root.stat().st_dev


def _freeze_into(directory: JobDirectory, made: Layout) -> None:
    generation, last = directory.durable()
    kept = msgspec.structs.replace(generation, driver=0)
    old, new = directory.home_of(generation), made.home(kept.number)
    # a job that has committed nothing has a savepoint too: with it, it starts from the beginning
    take_over(old, new, generation.first, None if last < 0 else last)
    link_runs(old.all_runs, new.all_runs)
    link_tree(old.logs_of_slots, new.logs_of_slots)
    if generation.written:
        link_tree(old.initial_state, new.initial_state)
    copy_room(directory.layout.rooms, made.rooms)
    manifest = msgspec.structs.replace(
        directory.manifest, generations=[kept], max_parallelism=kept.max_parallelism
    )
    ManifestFile(made.manifest).create(manifest)


def complete(frozen: Frozen) -> Path:
    """Make a savepoint of what was frozen; returns where it is. Called while the job goes on."""
    target = frozen.wish.target
    place = frozen.place
    try:
        files = file_records(place)
        if place.parent != target.parent:
            place = _carried(place, target, files)
        _finish(frozen, place, files)
        _sync(place, files)
        place.rename(target)
    except OSError as failure:
        raise StateError(
            f"The savepoint {target} could not be written: {failure.strerror or failure} "
            f"({failure.filename})."
        ) from failure
    finally:
        for left in {frozen.place, place} - {target}:
            shutil.rmtree(left, ignore_errors=True)
    assert is_savepoint(target)
    return target


def _carried(place: Path, target: Path, files: dict[str, StoredFile]) -> Path:
    """Copy a frozen checkpoint to the file system of ``target``."""
    made = target.parent / place.name
    try:
        copy_files(place, made, files)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return made


def _finish(frozen: Frozen, place: Path, files: dict[str, StoredFile]) -> None:
    manifest = SavepointManifest(
        savepoint_id=uuid.uuid4().hex,
        taken=frozen.taken,
        stopped=frozen.wish.stop,
        drained=frozen.wish.drain,
        contents=frozen.contents,
        graph=frozen.graph,
        files=files,
    )
    content = msgspec.json.format(msgspec.json.encode(manifest))
    write_whole(Layout(place).savepoint, content)


def _sync(place: Path, files: dict[str, StoredFile]) -> None:
    """Have everything on the disk before the savepoint gets its name: it has to survive a loss of
    power, and who has stopped a job with it may delete the checkpoint."""
    for path in files:
        descriptor = os.open(place / path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
