"""A checkpoint or savepoint that stands still while somebody reads what is in it.

Spark's checkpoint names files of its own by absolute paths, and a savepoint may lie anywhere. So
Spark's part is always read from a copy, in which the paths are right; large files of it are linked
where that is possible. What slots have written beside it is read where it lies.

A job that is running changes and removes all of that. What its last committed micro-batch needs is
kept for two further ones, so all files get second names, and if two more were not committed
meanwhile, nothing is missing. Nothing that belongs to the job is changed.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from scurry.checkpoint.contents import is_held
from scurry.checkpoint.copies import link_runs, link_tree
from scurry.checkpoint.directory import JobDirectory
from scurry.checkpoint.epochs import Epoch
from scurry.checkpoint.layout import Home
from scurry.checkpoint.manifest import Generation, check_writer
from scurry.checkpoint.savepoint_manifest import check_there, is_savepoint, read_manifest
from scurry.checkpoint.takeover import take_over
from scurry.common.any_paths import AnyPath
from scurry.common.errors import StateError
from scurry.common.own_directories import check_owner

#: How the names of directories begin in which copies are made of a checkpoint that is in use.
_READING = "reading-"
#: Attempts to get a copy of a checkpoint that is in use.
_ATTEMPTS = 20
#: Seconds after which a directory of somebody who has died is removed.
_GIVEN_UP = 86400.0


@dataclass(frozen=True)
class CheckpointAtRest:
    """A checkpoint as of its last committed micro-batch."""

    root: AnyPath
    max_parallelism: int
    generation: Generation
    epoch: Epoch
    #: Spark's checkpoint
    spark: AnyPath
    #: where the runs of slots are, and the large entries of their logs
    files: Home
    #: removed with this object
    _room: tempfile.TemporaryDirectory[str]

    @property
    def stages(self) -> int:
        """How many stages there are."""
        return self.generation.stages

    def close(self) -> None:
        """Remove what was copied."""
        self._room.cleanup()


def located(location: str) -> JobDirectory:
    """The checkpoint or savepoint in ``location``, if it is one, and this user's; raises
    :class:`StateError` otherwise."""
    directory = JobDirectory(location)
    if not directory.manifest.checkpoint_id:
        raise StateError(
            f"{directory.root} is neither a checkpoint nor a savepoint: there is no job.json in "
            "it. Give the directory that execution.checkpointing.dir names, or the path that "
            "`scurry savepoint create` printed."
        )
    advice = "Copy it to a directory of your own if you trust whoever made it."
    if isinstance(directory.root, Path):
        check_owner(directory.root.resolve(), advice)
    check_writer(directory.root, directory.manifest)
    return directory


def at_rest(location: str) -> CheckpointAtRest | None:
    """What the checkpoint or savepoint in ``location`` held after its last committed micro-batch;
    None if there was none yet."""
    _check_savepoint(located(location).root)
    for _ in range(_ATTEMPTS):
        directory = located(location)
        generation, last = directory.durable()
        if last < 0:
            return None
        used = is_held(directory.holder())
        room = _room(directory, used)
        try:
            found = _copied(directory, generation, last, room, used)
            if not used or located(location).durable()[1] <= last + 1:
                return found
        except (OSError, StateError):
            if not used:
                raise
        room.cleanup()
    raise StateError(
        f"The job in {location} commits micro-batches faster than its checkpoint can be read. Take "
        "a savepoint of it (`scurry savepoint create`), and read that."
    )


def _check_savepoint(place: AnyPath) -> None:
    """A file that is missing may be taken for a slot without state, so it is looked for. Checksums
    are not compared: that takes as long as reading everything."""
    if is_savepoint(place):
        check_there(place, read_manifest(place))


def _copied(
    directory: JobDirectory,
    generation: Generation,
    last: int,
    room: tempfile.TemporaryDirectory[str],
    used: bool,
) -> CheckpointAtRest:
    home, copy = directory.home_of(generation), Home(Path(room.name))
    if used:
        link_runs(home.all_runs, copy.all_runs)
        link_tree(home.logs_of_slots, copy.logs_of_slots)
        if generation.written:
            link_tree(home.initial_state, copy.initial_state)
    take_over(home, copy, generation.first, last)
    return CheckpointAtRest(
        directory.root,
        generation.max_parallelism,
        generation,
        directory.epoch_of(generation, last),
        copy.spark,
        copy if used else home,
        room,
    )


def _room(directory: JobDirectory, used: bool) -> tempfile.TemporaryDirectory[str]:
    """An empty directory; that for a copy of a checkpoint in use lies where links can be made."""
    if not used:
        return tempfile.TemporaryDirectory(prefix="scurry-reading-", ignore_cleanup_errors=True)
    place = directory.layout.frozen
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    for left in place.glob(f"{_READING}*"):
        if left.stat().st_mtime < time.time() - _GIVEN_UP:
            shutil.rmtree(left, ignore_errors=True)
    return tempfile.TemporaryDirectory(prefix=_READING, dir=place, ignore_cleanup_errors=True)
