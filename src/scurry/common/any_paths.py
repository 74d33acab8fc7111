"""Places of files: paths of a file system that is mounted here, or keys of an object store.

Most of Scurry works with :class:`pathlib.Path`, and everything that can be mounted is one. An
:class:`ObjectPath` stands for a place in an object store, and has those methods of a path that an
object store can do. What the two do in different ways are the functions of this module. Code that
has to work for both says so by the type :data:`AnyPath`.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import shutil
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias, TypeVar

from scurry.common.object_store import ObjectStore, StoreSettings
from scurry.common.own_directories import user_root

T = TypeVar("T")
R = TypeVar("R")
_DRAFT = ".draft"
#: How many requests are made at the same time.
_AT_ONCE = 16


class ObjectPath:
    """A place in an object store: a key, or what keys begin with."""

    __slots__ = ("key", "store")

    def __init__(self, store: ObjectStore, key: str) -> None:
        self.store = store
        self.key = key.strip("/")

    def __truediv__(self, name: str) -> ObjectPath:
        return ObjectPath(self.store, f"{self.key}/{name}")

    def __str__(self) -> str:
        return f"{self.store.scheme}://{self.key}"

    def __repr__(self) -> str:
        return f"ObjectPath({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, ObjectPath) and self.key == other.key
        return same and self.store == other.store  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def name(self) -> str:
        """The last part of the key."""
        return self.key.rpartition("/")[2]

    @property
    def stem(self) -> str:
        """The name without what follows its last dot."""
        return Path(self.name).stem

    @property
    def parent(self) -> ObjectPath:
        """What the key is below."""
        return ObjectPath(self.store, self.key.rpartition("/")[0])

    def with_name(self, name: str) -> ObjectPath:
        """The same place but for the last part of the key."""
        return self.parent / name

    def exists(self) -> bool:
        """Whether there is an object, or one below."""
        return self.name in self.store.names(self.parent.key)

    def is_file(self) -> bool:
        """Whether there is an object."""
        try:
            self.store.read(self.key)
        except FileNotFoundError:
            return False
        return True

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Nothing to do: there are no directories."""

    def read_bytes(self) -> bytes:
        """The content."""
        return self.store.read(self.key)

    def write_bytes(self, content: bytes) -> int:
        """Make ``content`` the content, all at once."""
        self.store.write(self.key, content)
        return len(content)

    def unlink(self, missing_ok: bool = False) -> None:
        """Delete the object, which need not be there."""
        self.store.delete([self.key])

    def glob(self, pattern: str) -> Iterator[ObjectPath]:
        """Places directly below whose names fit ``pattern``."""
        names = self.store.names(self.key)
        return (self / name for name in names if fnmatch.fnmatchcase(name, pattern))


#: Where a file or directory is.
AnyPath: TypeAlias = Path | ObjectPath


def is_url(location: str) -> bool:
    """Whether ``location`` is in an object store."""
    return "://" in location and not location.startswith("file:")


def path_of(location: str, store: StoreSettings | None = None) -> AnyPath:
    """The place behind a path or URL; ``store`` says how the object store behind a URL is reached,
    by default as the variable ``SCURRY_CONF`` does."""
    if is_url(location):
        scheme, _, key = location.partition("://")
        return ObjectPath(ObjectStore(scheme, store or StoreSettings.of_environment()), key)
    plain = location.removeprefix("file://").removeprefix("file:")
    return Path(plain).expanduser().absolute()


def here(place: AnyPath) -> Path:
    """A directory of this machine for what belongs to ``place`` and need not outlive the machine;
    the place itself if it is mounted."""
    if isinstance(place, Path):
        return place
    digest = hashlib.blake2b(str(place).encode(), digest_size=10).hexdigest()
    return user_root() / "stores" / digest


def names_in(place: AnyPath) -> list[str]:
    """The names in a directory, none if it does not exist."""
    if isinstance(place, ObjectPath):
        return place.store.names(place.key)
    try:
        return os.listdir(place)
    except FileNotFoundError:
        return []


def files_below(place: AnyPath) -> Iterator[tuple[str, AnyPath]]:
    """All files below a directory: their paths relative to it, and where they are."""
    if isinstance(place, ObjectPath):
        for key in place.store.find(place.key):
            yield key.removeprefix(f"{place.key}/"), ObjectPath(place.store, key)
        return
    for at, _, names in os.walk(place):
        for name in names:
            path = Path(at, name)
            yield str(path.relative_to(place)), path


def remove_tree(place: AnyPath) -> None:
    """Remove a directory and all in it, if it is there."""
    if isinstance(place, ObjectPath):
        place.store.delete(place.store.find(place.key))
    else:
        shutil.rmtree(place, ignore_errors=True)


def remove_files(places: Iterable[AnyPath]) -> None:
    """Remove files, which need not be there; those of an object store by one request."""
    objects: dict[ObjectStore, list[str]] = {}
    for place in places:
        if isinstance(place, ObjectPath):
            objects.setdefault(place.store, []).append(place.key)
        else:
            place.unlink(missing_ok=True)
    for store, keys in objects.items():
        store.delete(keys)


def copy_file(source: AnyPath, target: AnyPath) -> None:
    """Copy a file; raises :class:`FileNotFoundError` if it is not there."""
    if isinstance(source, Path) and isinstance(target, Path):
        shutil.copyfile(source, target)
    elif in_one_store(source, target):
        source.store.copy(source.key, target.key)  # type: ignore[union-attr]
    else:
        target.write_bytes(source.read_bytes())


def in_one_store(one: AnyPath, other: AnyPath) -> bool:
    """Whether both are in the same object store, which can copy from one to the other itself."""
    both = isinstance(one, ObjectPath) and isinstance(other, ObjectPath)
    return both and one.store == other.store  # type: ignore[union-attr]


def at_once(work: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """The results of ``work`` for all ``items``, which mostly waits for an object store: some are
    done at the same time."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(work, items))


def copy_tree(source: AnyPath, target: AnyPath) -> None:
    """Copy all files of a directory to one that does not exist."""
    if isinstance(source, Path) and isinstance(target, Path):
        shutil.copytree(source, target)
        return
    for name, path in files_below(source):
        copied = target / name
        copied.parent.mkdir(parents=True, exist_ok=True)
        copy_file(path, copied)


def write_whole(path: AnyPath, content: bytes) -> None:
    """Make ``content`` the content of ``path``, whole or not at all, also if the machine stops."""
    if isinstance(path, ObjectPath):
        path.write_bytes(content)
        return
    draft = path.with_name(f"{path.name}{_DRAFT}")
    _write_through(draft, content)
    draft.replace(path)


def _write_through(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


class Draft:
    """Content on its way to the disk while something else is done; it becomes that of ``path``,
    whole or not at all, when it is published."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path = path
        self._content = content
        self._draft = path.with_name(f"{path.name}{_DRAFT}")
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._write, name="scurry-draft", daemon=True)
        self._thread.start()

    def _write(self) -> None:
        try:
            _write_through(self._draft, self._content)
        except BaseException as failure:
            self._failure = failure

    def settle(self) -> None:
        """Wait until nothing more is written, so that somebody else may write there."""
        self._thread.join()

    def holds(self, path: AnyPath, content: bytes) -> bool:
        """Whether it is ``content`` for ``path``; nothing more is written when this returns."""
        self.settle()
        return self.path == path and self._content == content

    def publish(self) -> None:
        """Have the file there; raises what has prevented it from being written."""
        self.settle()
        if self._failure is not None:
            raise self._failure
        self._draft.replace(self.path)


def create_whole(path: AnyPath, content: bytes) -> bool:
    """Create the file ``path`` with ``content``, all at once; False if there is such a file."""
    if isinstance(path, ObjectPath):
        return path.store.create(path.key, content)
    draft = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}{_DRAFT}")
    _write_through(draft, content)
    try:
        # unlike a rename, a link does not replace what is there
        os.link(draft, path)
    except FileExistsError:
        return False
    except OSError:
        # a file system without links: created by one alone too, though not whole at once
        return _create(path, content)
    finally:
        draft.unlink()
    return True


def _create(path: Path, content: bytes) -> bool:
    try:
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        return False
    return True
