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

from scurry.checkpoint.layout import Layout
from scurry.checkpoint.savepoint_manifest import (
    SavepointManifest,
    check_whole,
    copy_files,
    is_savepoint,
    read_manifest,
)
from scurry.checkpoint.savepoints import PARTIAL
from scurry.common.any_paths import write_whole
from scurry.common.errors import StateError

#: What a savepoint is renamed to before its files go, so that nobody starts from half of one.
_DROPPED = ".dropped-savepoint-"


@dataclass(frozen=True)
class Found:
    """A savepoint, and where it is; ``problem`` says why it cannot be read."""

    path: Path
    manifest: SavepointManifest | None
    problem: str = ""


def savepoints_in(directory: Path) -> list[Found]:
    """The savepoints in a directory, the newest first; those that cannot be read last."""
    if not directory.is_dir():
        raise StateError(f"{directory} is not a directory.")
    found = [_look(path) for path in sorted(directory.iterdir()) if is_savepoint(path)]
    return sorted(found, key=lambda each: -(each.manifest.taken if each.manifest else 0))


def _look(path: Path) -> Found:
    try:
        return Found(path, read_manifest(path))
    except StateError as failure:
        return Found(path, None, str(failure))


def drop(place: Path) -> None:
    """Remove a savepoint, whole or damaged; raises :class:`StateError` if it is none."""
    if not is_savepoint(place):
        read_manifest(place)
    gone = place.with_name(f"{_DROPPED}{uuid.uuid4().hex[:12]}")
    place.rename(gone)
    shutil.rmtree(gone)


def copy(place: Path, target: Path) -> SavepointManifest:
    """Copy a savepoint to ``target``, which must not exist, and make sure that both are whole. On
    the same file system the copy shares the files."""
    manifest = read_manifest(place)
    check_whole(place, manifest)
    if os.path.lexists(target):
        raise StateError(
            f"{target} exists. Savepoints never replace anything; choose another name."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.parent / f"{PARTIAL}{uuid.uuid4().hex[:12]}"
    try:
        copy_files(place, draft, manifest.files)
        check_whole(draft, manifest)
        write_whole(Layout(draft).savepoint, Layout(place).savepoint.read_bytes())
        draft.rename(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return manifest


@dataclass
class Garbage:
    """What can be removed from a directory of savepoints."""

    #: left by drivers that died while they made or removed a savepoint
    unfinished: list[Path] = field(default_factory=list)
    #: older than the last ones of their checkpoint that are to be kept
    surplus: list[Found] = field(default_factory=list)


def garbage(directory: Path, keep: int | None, older_than: float = 0.0) -> Garbage:
    """What can be removed: with ``keep``, all savepoints of a job but its last so many; and what is
    left of savepoints that were never finished, if nothing of it has changed since the moment
    ``older_than``, in seconds since 1970: a job may be making one now."""
    made = Garbage()
    for path in sorted(directory.iterdir()):
        if path.name.startswith((PARTIAL, _DROPPED)) and _last_change(path) < older_than:
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
        shutil.rmtree(path, ignore_errors=True)
    for surplus in found.surplus:
        drop(surplus.path)


def _last_change(path: Path) -> float:
    """When something below ``path`` was last added or removed."""
    return max((os.stat(place).st_mtime for place, _, _ in os.walk(path)), default=0.0)
