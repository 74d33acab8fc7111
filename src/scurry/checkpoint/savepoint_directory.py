"""A directory of savepoints: which there are, copying them, and getting rid of them.

The directory is any directory; savepoints are those of its entries that hold a whole one. What
else lies there is left alone, apart from what a driver that died has left of a savepoint it was
making.
"""

from __future__ import annotations

import os
import shutil
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec.structs import replace

from scurry.checkpoint.layout import Layout
from scurry.checkpoint.savepoint_copies import recorded, transfer
from scurry.checkpoint.savepoint_manifest import (
    UNFINISHED,
    SavepointManifest,
    check_whole,
    is_savepoint,
    read_manifest,
)
from scurry.checkpoint.savepoints import PARTIAL, mark_unfinished
from scurry.common.any_paths import AnyPath, ObjectPath, names_in, remove_tree, write_whole
from scurry.common.errors import StateError

#: What a savepoint is renamed to before its files go, so that nobody starts from half of one.
_DROPPED = ".dropped-savepoint-"


@dataclass(frozen=True)
class Found:
    """A savepoint, and where it is; ``problem`` says why it cannot be read."""

    path: AnyPath
    manifest: SavepointManifest | None
    problem: str = ""


def savepoints_in(directory: AnyPath) -> list[Found]:
    """The savepoints in a directory, the newest first; those that cannot be read last."""
    _check_directory(directory)
    found = list(filter(None, map(_look, _entries(directory))))
    return sorted(found, key=lambda each: -(each.manifest.taken if each.manifest else 0))


def _check_directory(directory: AnyPath) -> None:
    if isinstance(directory, Path) and not directory.is_dir():
        raise StateError(f"{directory} is not a directory.")


def _entries(directory: AnyPath) -> list[AnyPath]:
    return [directory / name for name in sorted(names_in(directory))]


def _look(path: AnyPath) -> Found | None:
    """The savepoint in ``path``, None if there is none. What is somebody else's, as only its owner
    can enter a savepoint, may be one."""
    try:
        return Found(path, read_manifest(path)) if is_savepoint(path) else None
    except StateError as failure:
        return Found(path, None, str(failure))
    except PermissionError as failure:
        return Found(path, None, f"It cannot be read: {failure.strerror or failure}.")


def drop(place: AnyPath) -> None:
    """Remove a savepoint, whole or damaged; raises :class:`StateError` if it is none."""
    if not is_savepoint(place):
        read_manifest(place)
    if isinstance(place, ObjectPath):
        mark_unfinished(place)
        Layout(place).savepoint.unlink()
        remove_tree(place)
        return
    gone = place.with_name(f"{_DROPPED}{uuid.uuid4().hex[:12]}")
    place.rename(gone)
    shutil.rmtree(gone)


def copy(place: AnyPath, target: AnyPath) -> SavepointManifest:
    """Copy a savepoint to ``target``, which must not exist, and make sure that both are whole. On
    the same file system the copy shares the files."""
    manifest = read_manifest(place)
    check_whole(place, manifest)
    if os.path.lexists(target) if isinstance(target, Path) else names_in(target):
        raise StateError(
            f"{target} exists. Savepoints never replace anything; choose another name."
        )
    draft = target
    if isinstance(target, Path):
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.parent / f"{PARTIAL}{uuid.uuid4().hex[:12]}"
    else:
        mark_unfinished(target)
    try:
        transfer(place, draft, manifest.files)
        manifest = replace(manifest, files=recorded(place, draft, manifest.files))
        check_whole(draft, manifest)
        content = msgspec.json.format(msgspec.json.encode(manifest))
        write_whole(Layout(draft).savepoint, content)
        if isinstance(draft, ObjectPath):
            (draft / UNFINISHED).unlink(missing_ok=True)
        else:
            draft.rename(str(target))
    finally:
        if isinstance(draft, Path) or not is_savepoint(draft):
            remove_tree(draft)
    return manifest


@dataclass
class Garbage:
    """What can be removed from a directory of savepoints."""

    #: left by drivers that died while they made or removed a savepoint
    unfinished: list[AnyPath] = field(default_factory=list)
    #: older than the last ones of their checkpoint that are to be kept
    surplus: list[Found] = field(default_factory=list)


def garbage(directory: AnyPath, keep: int | None, older_than: float = 0.0) -> Garbage:
    """What can be removed: with ``keep``, all savepoints of a job but its last so many; and what is
    left of savepoints that were never finished, if nothing of it has changed since the moment
    ``older_than``, in seconds since 1970: a job may be making one now."""
    _check_directory(directory)
    made = Garbage()
    for path in _entries(directory):
        if _is_unfinished(path) and _last_change(path) < older_than:
            made.unfinished.append(path)
    if keep is not None:
        kept: dict[str, int] = {}
        for found in savepoints_in(directory):
            if found.manifest is None:
                continue
            job = found.manifest.contents.checkpoint_id
            kept[job] = kept.get(job, 0) + 1
            if kept[job] > keep:
                made.surplus.append(found)
    return made


def remove(found: Garbage) -> None:
    """Remove what :func:`garbage` found."""
    for path in found.unfinished:
        remove_tree(path)
    for surplus in found.surplus:
        drop(surplus.path)


def _is_unfinished(path: AnyPath) -> bool:
    if isinstance(path, Path):
        return path.name.startswith((PARTIAL, _DROPPED))
    return UNFINISHED in names_in(path) and not is_savepoint(path)


def _last_change(path: AnyPath) -> float:
    """When something below ``path`` was last added or removed; in an object store when that was
    begun."""
    if isinstance(path, ObjectPath):
        return float((path / UNFINISHED).read_bytes())
    return max((os.stat(place).st_mtime for place, _, _ in os.walk(path)), default=0.0)
