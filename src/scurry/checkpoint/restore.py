"""Beginning a checkpoint with a savepoint.

A job that is to start from a savepoint gets a checkpoint of its own, whose first content is the
savepoint's; the savepoint itself stays as it is, and other jobs may start from it. The checkpoint
remembers which savepoint that was. So the same command can be run again, after a crash or a stop:
it goes on with the checkpoint and does not start from the savepoint a second time.
"""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path
from urllib.parse import unquote

from scurry.checkpoint.layout import STORED_ROOMS, Layout
from scurry.checkpoint.manifest import Generation, ManifestFile
from scurry.checkpoint.savepoint_copies import transfer
from scurry.checkpoint.savepoint_manifest import SavepointManifest, check_whole, read_manifest
from scurry.common.any_paths import AnyPath, ObjectPath, path_of
from scurry.common.errors import StateError
from scurry.common.fault_points import fault_point
from scurry.common.object_store import StoreSettings

_DRAFT = ".restoring-"
_ROOMS = "rooms"


def local_path(location: str) -> Path:
    """The path behind a location, which may be a ``file:`` URL."""
    return Path(location.removeprefix("file://").removeprefix("file:")).expanduser().absolute()


def restore(savepoint: str, checkpoint: AnyPath, store: StoreSettings | None = None) -> bool:
    """Begin the checkpoint in the directory ``checkpoint`` with ``savepoint``; False if that has
    been done before. Raises :class:`StateError` if the savepoint is damaged, or if the directory
    holds a checkpoint that began otherwise. A savepoint at a URL is reached as ``store`` says."""
    place = path_of(savepoint, store)
    manifest = read_manifest(place)
    if _began_before(Layout(checkpoint), manifest, savepoint):
        return False
    check_whole(place, manifest)
    _check_rooms(savepoint, checkpoint, manifest)
    if isinstance(checkpoint, ObjectPath):
        _put_in(place, checkpoint, manifest)
        return True
    _clear_drafts(checkpoint)
    draft = checkpoint / f"{_DRAFT}{uuid.uuid4().hex[:12]}"
    # the job that is to use this disk waits for it
    transfer(place, draft, manifest.files, gently=False)
    _move_in(draft, checkpoint, manifest)
    return True


def _check_rooms(savepoint: str, checkpoint: AnyPath, manifest: SavepointManifest) -> None:
    """What connectors keep has another form in an object store than on a file system."""
    stored = isinstance(checkpoint, ObjectPath)
    other = f"{_ROOMS if stored else STORED_ROOMS}/"
    found = sorted({name.split("/")[1] for name in manifest.files if name.startswith(other)})
    if not found:
        return
    there, here = ("on a file system", "in an object store")[:: 1 if stored else -1]
    raise StateError(
        f"The savepoint {savepoint} holds what {unquote(found[0])!r} keeps {there}, such as rows "
        f"of a DataFrame that wait for the job, and {checkpoint} is {here}. Give a checkpoint "
        f"{there}."
    )


def _began_before(layout: Layout, manifest: SavepointManifest, place: str) -> bool:
    found = ManifestFile(layout.manifest_of(max(layout.drivers(), default=0)))
    if not found.exists():
        return False
    known = found.read().restored_from
    if known == manifest.savepoint_id:
        return True
    began = "with another savepoint" if known else "without a savepoint"
    raise StateError(
        f"The job is to start from the savepoint {place}, but there is a checkpoint in "
        f"{layout.root} already, which began {began}. Give the job another "
        "execution.checkpointing.dir; or, to go on with that checkpoint, leave the savepoint out."
    )


def _put_in(place: AnyPath, checkpoint: ObjectPath, manifest: SavepointManifest) -> None:
    """Copy a savepoint to where it is to be, file by file. The checkpoint's manifest comes last,
    and with it the checkpoint is there; nobody looks at what an interrupted restore has left."""
    own = ManifestFile(Layout(place).manifest).read()
    generation = own.generations[-1]
    own.restored_from, own.copy = manifest.savepoint_id, uuid.uuid4().hex
    old = Layout(place).home(generation.number)
    generation.number = 0
    prefix = "" if old.path == place else f"{old.path.name}/"
    files = {
        name.removeprefix(prefix): record
        for name, record in manifest.files.items()
        if name.startswith(prefix) and not name.startswith(f"{STORED_ROOMS}/")
    }
    files.pop(Layout(place).manifest.name, None)
    transfer(old.path, checkpoint, files)
    rooms = {n: record for n, record in manifest.files.items() if n.startswith(f"{STORED_ROOMS}/")}
    transfer(place, checkpoint, rooms)
    fault_point("savepoint-restoring")
    if not ManifestFile(Layout(checkpoint).manifest).create(own):
        raise _somebody_else(checkpoint)


def _move_in(draft: Path, checkpoint: Path, manifest: SavepointManifest) -> None:
    """Give the restored files their places; the checkpoint's manifest comes last, and with it the
    checkpoint is there."""
    source, layout = Layout(draft), Layout(checkpoint)
    own = ManifestFile(source.manifest).read()
    own.restored_from, own.copy = manifest.savepoint_id, uuid.uuid4().hex
    source.manifest.unlink()
    _begin_anew(draft, own.generations[-1])
    for entry in os.scandir(draft):
        target = checkpoint / entry.name
        # what a restore that was interrupted has left
        shutil.rmtree(target, ignore_errors=True)
        os.rename(entry.path, target)
    draft.rmdir()
    fault_point("savepoint-restoring")
    if not ManifestFile(layout.manifest).create(own):
        raise _somebody_else(checkpoint)


def _somebody_else(checkpoint: AnyPath) -> StateError:
    return StateError(
        f"Somebody else has just made a checkpoint in {checkpoint}. Start the job again."
    )


def _begin_anew(draft: Path, generation: Generation) -> None:
    """Make what was restored the first generation. Generations are numbered by the leases of
    drivers, which begin anew as well: under its old number it would be taken for one of these."""
    if generation.number == 0:
        return
    old = draft / Layout(draft).home(generation.number).path.name
    for entry in os.scandir(old):
        os.rename(entry.path, draft / entry.name)
    old.rmdir()
    generation.number = 0


def _clear_drafts(checkpoint: Path) -> None:
    for left in checkpoint.glob(f"{_DRAFT}*"):
        shutil.rmtree(left, ignore_errors=True)
