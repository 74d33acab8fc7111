"""Copies of files that nobody changes: linked where the file system can do that.

Most files of a checkpoint are written once and never changed, so two directories can share them.
A link takes no time and no space, whatever the size of the file; each directory can delete its own
name of the file without the other noticing. Between two file systems, or where there are no links,
the content is copied.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path, PurePosixPath

from scurry.checkpoint.gentle_files import copy_gently
from scurry.common.any_paths import AnyPath, ObjectPath, at_once, copy_file, files_below
from scurry.state.runs.packs import owner_of, packed, unpacked

#: Files of more bytes than this are linked. A link costs more than a copy of very few bytes where
#: many names lie in one directory, and a small file may be one that Spark writes again.
LARGE = 65_536
#: The name of what is written last into a directory of an object store, and makes it count.
_LAST = "manifest.json"


def link_or_copy(source: AnyPath, target: AnyPath, gently: bool = True) -> None:
    """Have the content of ``source``, which nobody changes, under the name ``target`` too;
    ``gently`` if a job may be at work on the same disk."""
    if not (isinstance(source, Path) and isinstance(target, Path)):
        copy_file(source, target)
        return
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        # there are no links here, or not between these two places
        (copy_gently if gently else shutil.copyfile)(source, target)


def copy_if_there(source: AnyPath, target: AnyPath) -> bool:
    """Copy a file that somebody may remove meanwhile, and link it if it is large; whether the file
    was there."""
    try:
        if isinstance(source, Path) and source.stat().st_size > LARGE:
            link_or_copy(source, target)
        else:
            copy_file(source, target)
    except FileNotFoundError:
        target.unlink(missing_ok=True)
        return False
    return True


def link_tree(source: AnyPath, target: AnyPath) -> None:
    """Have all files below ``source`` below ``target`` too; drafts are left out. Files that are
    removed meanwhile do not count."""
    found = (each for each in files_below(source) if not each[0].endswith(".draft"))

    def take(file: tuple[str, AnyPath]) -> None:
        name, path = file
        copied = target / name
        copied.parent.mkdir(parents=True, exist_ok=True)
        try:
            link_or_copy(path, copied)
        except FileNotFoundError:
            copied.unlink(missing_ok=True)

    if isinstance(source, Path) and isinstance(target, Path):
        for each in found:
            take(each)
    else:
        at_once(take, found)


def link_runs(source: AnyPath, target: AnyPath) -> None:
    """The same for the directories of runs. What is one object of an object store is several files
    elsewhere: :mod:`scurry.state.runs.packs`."""
    if isinstance(source, Path) or isinstance(target, ObjectPath):
        link_tree(source, target)
        return
    for name, path in files_below(source):
        place = (target / name).parent
        place.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            for file, content in unpacked(path.read_bytes()):
                (place / file).write_bytes(content)


def put_runs(source: Path, names: Iterable[str], target: ObjectPath) -> None:
    """Have the files ``names`` below ``source``, which belong to runs, below ``target`` too."""
    objects: dict[str, list[Path]] = {}
    for name in names:
        path = source / name
        key = f"{name.removesuffix(path.name)}{owner_of(path.name)}"
        objects.setdefault(key, []).append(path)
    for key, files in objects.items():
        (target / key).write_bytes(packed(files))


def copy_room(source: Path, target: Path) -> None:
    """Copy what sources and sinks keep for themselves, while they may be at work. Nothing is
    linked: nobody knows which of these files are changed in place.

    A checkpoint of Spark's there, by its name ``spark``, is copied before what lies beside it, and
    its log of commits before its log of offsets. So the copy may hold more than its checkpoint says
    is done, which is done again, and never less.
    """
    for place, directories, names in os.walk(source):
        directories.sort(key=lambda name: (name != "spark", name))
        into = target / Path(place).relative_to(source)
        into.mkdir(parents=True, exist_ok=True)
        for name in sorted(names):
            try:
                shutil.copyfile(Path(place, name), into / name)
            except FileNotFoundError:
                (into / name).unlink(missing_ok=True)


def copy_stored_rooms(source: AnyPath, target: AnyPath) -> None:
    """The same in an object store. What is there is never changed, and found by whoever lists it
    later; so of two lists the first one says what is copied, and what it names is whole."""
    there = dict(files_below(source))
    whole = {str(PurePosixPath(name).parent) for name in there if name.endswith(_LAST)}

    def take(file: tuple[str, AnyPath]) -> None:
        with suppress(FileNotFoundError):
            copy_file(file[1], target / file[0])

    found = [each for each in files_below(source) if str(PurePosixPath(each[0]).parent) in whole]
    at_once(take, sorted(found, key=lambda file: file[0].endswith(_LAST)))
