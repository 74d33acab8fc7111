"""Taking over what the previous driver has left: copies, under names of the new driver's own.

A driver that was taken for dead may go on at any time: its tasks write state, its Spark commits. So
the next driver does not work on the same files. It begins with copies of what counts at that
moment: plans, epochs, and Spark's checkpoint up to the last micro-batch that was committed. Large
files, which nobody changes, are not copied but linked where the file system can do that, so this
takes milliseconds.

Of Spark's state the last snapshot is needed and the changes since then. Spark writes the absolute
path of a file with the schema of the state into its metadata; the copy names the copied file.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from scurry.checkpoint.copies import copy_if_there, link_tree
from scurry.checkpoint.layout import Home, Layout
from scurry.common.any_paths import (
    AnyPath,
    ObjectPath,
    copy_file,
    copy_tree,
    remove_tree,
    write_whole,
)

#: The number that the name of a file of Spark's begins with, and what kind of file it is.
_NUMBERED = re.compile(r"\.?(\d+)(?:_[^.]*)?(?:\.(\w+))?")
_SCHEMA = re.compile(rb'"(\w+:/*)?(/[^"]*?)/state/(\d+/_stateSchema/[^"]*)"')
_SNAPSHOT = "zip"


def take_over(old: Home, new: Home, first: int, last: int | None) -> None:
    """Copy to ``new`` what ``old`` holds up to micro-batch ``last``, which is None if none was
    committed. ``first`` is the job's number of the micro-batch that Spark numbers 0."""
    for part in new.of_driver:
        remove_tree(part)
    for part in new.needed:
        part.mkdir(parents=True)
    committed = first - 1 if last is None else last
    for epoch in old.epochs.glob("*.json"):
        if int(epoch.stem) <= committed:
            copy_file(epoch, new.epochs / epoch.name)
    copy_if_there(old.promises(committed), new.promises(committed))
    for plan in old.plans.glob("[0-9]*"):
        if int(plan.name) <= committed + 1:
            copy_tree(plan, new.plans / plan.name)
    if last is not None:
        take_over_spark(old.spark, new.spark, last - first)


def take_over_pledges(layout: Layout, old: int, new: int) -> None:
    """Have the driver ``new`` keep what ``old`` has pledged. From here on ``old`` can pledge
    nothing more: its directory is renamed, so a pledge that it still makes has no place to go."""
    sealed, own, theirs = layout.sealed_pledges(old), layout.pledges(new), layout.pledges(old)
    if isinstance(sealed, ObjectPath) or isinstance(theirs, ObjectPath):
        # pledges are those of micro-batches, which have a file system
        return
    if not sealed.exists():
        with suppress(FileNotFoundError):
            theirs.rename(sealed)
    own.mkdir(parents=True, exist_ok=True)
    pledge = layout.pledge(sealed)
    if pledge.exists():
        write_whole(layout.pledge(own), pledge.read_bytes())


def take_over_spark(old: AnyPath, new: AnyPath, last: int) -> None:
    """Copy Spark's checkpoint up to its micro-batch ``last``. In an object store there is one only
    if a savepoint of a job in micro-batches was put there; nobody changes it."""
    if isinstance(new, ObjectPath):
        link_tree(old, new)
    elif isinstance(old, ObjectPath):
        with tempfile.TemporaryDirectory(prefix="scurry-spark-") as room:
            copy_tree(old, Path(room, "spark"))
            take_over_spark(Path(room, "spark"), new, last)
    else:
        _copy_spark(old, new, last)


def _copy_spark(old: Path, new: Path, last: int) -> None:
    # whatever is written while this goes on, the commits that count are those up to ``last``
    bounds = {"commits": last, "offsets": last + 1}
    for place, _, names in os.walk(old):
        parts = Path(place).relative_to(old).parts
        target = new.joinpath(*parts)
        target.mkdir(parents=True, exist_ok=True)
        wanted: Iterator[str] = (name for name in names if not name.endswith(".tmp"))
        if parts and parts[0] in bounds:
            wanted = _up_to(bounds[parts[0]], wanted)
        elif len(parts) >= 3 and parts[0] == "state" and parts[2].isdigit():
            wanted = iter(_since_snapshot(last + 1, list(wanted)))
        elif "_metadata" in parts:
            _copy_metadata(Path(place), target, new, names)
            continue
        for name in wanted:
            # Spark removes what is too old while it is copied
            copy_if_there(Path(place, name), target / name)


def _up_to(last: int, names: Iterator[str]) -> Iterator[str]:
    for name in names:
        found = _NUMBERED.match(name)
        if found is None or int(found[1]) <= last:
            yield name


def _since_snapshot(version: int, names: list[str]) -> list[str]:
    """Of the files of a state store, those that are needed to load ``version``."""
    numbered = {name: found for name in names if (found := _NUMBERED.match(name)) and found[2]}
    snapshots = [
        int(found[1])
        for name, found in numbered.items()
        if found[2] == _SNAPSHOT and not name.startswith(".") and int(found[1]) <= version
    ]
    least = max(snapshots, default=0)
    return [
        name for name in names if name not in numbered or least <= int(numbered[name][1]) <= version
    ]


def _copy_metadata(place: Path, target: Path, spark: Path, names: list[str]) -> None:
    own = f"{spark}/state/".encode()
    for name in names:
        # Spark's checksums, in hidden files, would not fit any more
        if not name.startswith("."):
            content = (place / name).read_bytes()
            content = _SCHEMA.sub(
                lambda found: b'"%s%s%s"' % (found[1] or b"", own, found[3]), content
            )
            (target / name).write_bytes(content)
