"""The files of a savepoint on their way from one place to another.

On a file system a run or an index is several files, in an object store it is one object
(:mod:`scurry.state.runs.packs`); whatever crosses the border is packed or unpacked. Both forms are
told apart by names, so a savepoint that another tool has copied to an object store file by file is
read as well. What is read on the way is compared with its checksum.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from scurry.checkpoint.copies import put_runs
from scurry.checkpoint.savepoint_manifest import (
    CHECKSUM,
    StoredFile,
    copy_files,
    damaged,
    file_records,
)
from scurry.common.any_paths import AnyPath, ObjectPath, at_once, in_one_store
from scurry.state.runs.packs import unpacked

_RUNS = "runs"
_SLOT = re.compile(r"\d+-\d+")


def transfer(
    source: AnyPath, target: AnyPath, files: Mapping[str, StoredFile], gently: bool = True
) -> None:
    """Have ``files`` of the savepoint in ``source`` in ``target`` too, in the form that files have
    there; raises :class:`StateError`, naming the file, if one of those that were read is
    damaged. On a disk it is done ``gently`` if a job may be at work there."""
    if isinstance(source, Path):
        if isinstance(target, Path):
            copy_files(source, target, dict(files), gently)
        else:
            _put(source, target, files)
        return

    def take(name: str) -> None:
        if in_one_store(source, target):
            source.store.copy((source / name).key, (target / name).key)  # type: ignore[union-attr]
            return
        content = _read(source, name, files[name])
        if isinstance(target, Path):
            _write(target / name, content)
        else:
            (target / name).write_bytes(content)

    at_once(take, sorted(files))


def _put(source: Path, target: ObjectPath, files: Iterable[str]) -> None:
    """Have files of a file system in an object store."""
    of_runs: dict[str, set[str]] = {}
    others = []
    for name in sorted(files):
        parts = PurePosixPath(name).parts
        if _is_of_run(name):
            prefix = "/".join(parts[:-2])
            of_runs.setdefault(prefix, set()).add("/".join(parts[-2:]))
        else:
            others.append(name)
    for prefix, names in of_runs.items():
        put_runs(source / prefix, names, target / prefix)
    at_once(lambda name: (target / name).write_bytes((source / name).read_bytes()), others)


def _is_of_run(name: str) -> bool:
    """Whether the file is of a run: those lie in ``runs/1-0``, in the savepoint or a generation."""
    parts = PurePosixPath(name).parts
    # a source may be called so, and keep something
    return len(parts) >= 3 and parts[-3] == _RUNS and _SLOT.fullmatch(parts[-2]) is not None


def _read(source: ObjectPath, name: str, expected: StoredFile) -> bytes:
    try:
        content = (source / name).read_bytes()
    except FileNotFoundError as failure:
        raise damaged(source, [f"{name} is missing"]) from failure
    found = StoredFile(len(content), hashlib.new(CHECKSUM, content).hexdigest())
    if found != expected:
        raise damaged(source, [f"{name} has other content than was written"])
    return content


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if _is_of_run(str(path)) and "." not in path.name:
        for name, part in unpacked(content):
            path.with_name(name).write_bytes(part)
    else:
        path.write_bytes(content)


def recorded(
    source: AnyPath, target: AnyPath, files: dict[str, StoredFile]
) -> dict[str, StoredFile]:
    """What there is to say of the files in ``target`` that were transferred from ``source``, where
    there were ``files``."""
    same = isinstance(source, Path) == isinstance(target, Path)
    return files if same else file_records(target)
