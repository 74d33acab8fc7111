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
import tempfile
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from scurry.checkpoint.contents import read_contents
from scurry.checkpoint.copies import copy_room, copy_stored_rooms, link_runs, link_tree
from scurry.checkpoint.directory import JobDirectory
from scurry.checkpoint.gentle_files import sync_gently
from scurry.checkpoint.layout import Layout
from scurry.checkpoint.manifest import ManifestFile
from scurry.checkpoint.savepoint_copies import recorded, transfer
from scurry.checkpoint.savepoint_manifest import (
    UNFINISHED,
    GraphNode,
    SavepointManifest,
    StoredFile,
    file_records,
    is_savepoint,
)
from scurry.checkpoint.stored import CheckpointContents
from scurry.checkpoint.takeover import take_over
from scurry.common.any_paths import (
    AnyPath,
    ObjectPath,
    in_one_store,
    names_in,
    path_of,
    remove_tree,
    write_whole,
)
from scurry.common.errors import StateError
from scurry.common.fault_points import fault_point
from scurry.common.object_store import StoreSettings

#: How the names of directories begin in which savepoints are being made.
PARTIAL = ".savepoint-in-the-making-"
#: Where, in a checkpoint in an object store, those lie that are to be somewhere else.
_FROZEN = "frozen"


@dataclass(frozen=True)
class Wish:
    """What kind of savepoint is asked for."""

    #: the directory of the savepoint itself, which must not exist
    target: AnyPath
    #: whether the job is to end with it, and whether event time is to be brought to its end before
    stop: bool = False
    drain: bool = False


@dataclass(frozen=True)
class Frozen:
    """A checkpoint as it was at one moment, not yet a savepoint."""

    wish: Wish
    #: where its files are
    place: AnyPath
    contents: CheckpointContents
    graph: list[GraphNode]
    taken: int


def savepoint_path(
    directory: str, job_id: str, name: str = "", store: StoreSettings | None = None
) -> AnyPath:
    """Where the next savepoint of a job is put that is to lie in ``directory``: under ``name``, or
    under one that nobody has used, as Flink makes it. ``store`` says how the object store of a URL
    is reached."""
    chosen = name or f"savepoint-{job_id[:6]}-{uuid.uuid4().hex[:12]}"
    if Path(chosen).name != chosen or chosen.startswith("."):
        raise StateError(
            f"{chosen!r} cannot be the name of a savepoint: it becomes the name of a directory, so "
            "it must not contain a slash, nor begin with a dot."
        )
    return path_of(directory, store) / chosen


def freeze(directory: JobDirectory, wish: Wish, graph: Sequence[GraphNode] = ()) -> Frozen:
    """Freeze the checkpoint in ``directory``, in which nothing is under way; raises
    :class:`StateError` if it cannot be done."""
    place = _place_for(directory, wish.target)
    try:
        _freeze_into(directory, Layout(place))
        contents = read_contents(str(place), directory.store)
    except BaseException:
        remove_tree(place)
        raise
    contents = msgspec.structs.replace(contents, directory=str(directory.root), disk={})
    fault_point("savepoint-frozen")
    return Frozen(wish, place, contents, list(graph), int(time.time() * 1000))


def draft_for(target: AnyPath) -> Path:
    """An empty directory in which a savepoint can be written that is to lie at ``target``."""
    _refuse_what_is_there(target)
    if isinstance(target, ObjectPath):
        return Path(tempfile.mkdtemp(prefix=PARTIAL))
    return _partial_in(target.parent, target)


def complete_written(place: Path, target: AnyPath) -> AnyPath:
    """Make a savepoint of the checkpoint that was written to ``place``, a directory of
    :func:`draft_for`; returns where it is."""
    contents = msgspec.structs.replace(read_contents(str(place)), directory="", disk={})
    return complete(Frozen(Wish(target), place, contents, [], int(time.time() * 1000)))


def _refuse_what_is_there(target: AnyPath) -> None:
    there = os.path.lexists(target) if isinstance(target, Path) else bool(names_in(target))
    if there:
        raise StateError(
            f"The savepoint cannot be written to {target}: there is something of that name. "
            "Savepoints never replace anything; choose another name."
        )


def _place_for(directory: JobDirectory, target: AnyPath) -> AnyPath:
    """Where a checkpoint can be frozen without its content being copied, or at least without its
    coming here: where the savepoint is to be, or beside it, if that is on the same file system or
    in the same store, and in the checkpoint otherwise."""
    root, name = directory.root, f"{PARTIAL}{uuid.uuid4().hex[:12]}"
    _refuse_what_is_there(target)
    try:
        if isinstance(root, ObjectPath):
            if not in_one_store(root, target):
                return root / _FROZEN / name
            mark_unfinished(target)
            return target
        if isinstance(target, ObjectPath):
            return _partial_in(directory.layout.frozen, target)
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as failure:
        raise _cannot_be_written(target, failure) from failure
    beside = target.parent.stat().st_dev == root.stat().st_dev
    return _partial_in(target.parent if beside else directory.layout.frozen, target)


def mark_unfinished(target: AnyPath) -> None:
    """Show that the savepoint at ``target`` in an object store is not whole."""
    (target / UNFINISHED).write_bytes(str(int(time.time())).encode())


def _partial_in(place: Path, target: AnyPath) -> Path:
    made = place / f"{PARTIAL}{uuid.uuid4().hex[:12]}"
    try:
        made.mkdir(mode=0o700, parents=True)
    except OSError as failure:
        raise _cannot_be_written(target, failure) from failure
    return made


def _cannot_be_written(target: AnyPath, failure: OSError) -> StateError:
    where = f" ({failure.filename})" if failure.filename else ""
    return StateError(
        f"The savepoint cannot be written to {target}: {failure.strerror or failure}{where}."
    )


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
    if isinstance(made.root, Path):
        copy_room(directory.layout.rooms, made.rooms)
    else:
        copy_stored_rooms(directory.layout.stored_rooms, made.stored_rooms)
    manifest = msgspec.structs.replace(
        directory.manifest, generations=[kept], max_parallelism=kept.max_parallelism
    )
    ManifestFile(made.manifest).create(manifest)


def complete(frozen: Frozen) -> AnyPath:
    """Make a savepoint of what was frozen; returns where it is. Called while the job goes on."""
    target = frozen.wish.target
    place = frozen.place
    try:
        if isinstance(target, ObjectPath):
            _complete_in_store(frozen, target)
        else:
            _complete_in_files(frozen, target)
    except OSError as failure:
        raise _cannot_be_written(target, failure) from failure
    finally:
        if place != target:
            remove_tree(place)
    assert is_savepoint(target)
    return target


def _complete_in_files(frozen: Frozen, target: Path) -> None:
    """The same on a file system: the directory gets its name when all is in it."""
    place = frozen.place
    files = file_records(place)
    made = target.parent / place.name
    try:
        if place != made:
            target.parent.mkdir(parents=True, exist_ok=True)
            transfer(place, made, files)
            files = recorded(place, made, files)
        _finish(frozen, made, files)
        _sync(made, files)
        made.rename(target)
    except BaseException:
        remove_tree(made)
        raise


def _complete_in_store(frozen: Frozen, target: ObjectPath) -> None:
    """The same in an object store: with the manifest, which comes last, the savepoint is there."""
    place = frozen.place
    files = file_records(place)
    if place != target:
        mark_unfinished(target)
        transfer(place, target, files)
        files = recorded(place, target, files)
    _finish(frozen, target, files)
    (target / UNFINISHED).unlink(missing_ok=True)


def _finish(frozen: Frozen, place: AnyPath, files: dict[str, StoredFile]) -> None:
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
        sync_gently(place / path)
