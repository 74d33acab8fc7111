"""Files that one of several creates, and no other: what object stores call a conditional put."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

_SUFFIX = ".json"


def create_whole(path: Path, content: bytes) -> bool:
    """Create the file ``path`` with ``content``, all at once; False if there is such a file."""
    draft = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}.draft")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
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


class NumberedDirectory:
    """Files with numbers for names, each of which one of several creates."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def _file(self, number: int) -> Path:
        return self._path / f"{number:09d}{_SUFFIX}"

    def identity(self) -> str:
        """A text by which this machine tells the directory from others, copies of it included; the
        directory is made if it is not there."""
        self._path.mkdir(parents=True, exist_ok=True)
        found = self._path.stat()
        return f"{found.st_dev}:{found.st_ino}"

    def numbers(self) -> list[int]:
        """The numbers of all files."""
        try:
            names = os.listdir(self._path)
        except FileNotFoundError:
            return []
        stems = (name.removesuffix(_SUFFIX) for name in names)
        return [int(stem) for stem in stems if stem.isdigit()]

    def read(self, number: int) -> bytes | None:
        """The content of a file, None if it is gone."""
        try:
            return self._file(number).read_bytes()
        except FileNotFoundError:
            return None

    def create(self, number: int, content: bytes) -> bool:
        """Create a file, whole; False if there is one of that number already."""
        self._path.mkdir(parents=True, exist_ok=True)
        return create_whole(self._file(number), content)

    def replace(self, number: int, content: bytes) -> None:
        """Give a file that this process has created other content, whole."""
        path = self._file(number)
        draft = path.with_name(f"{path.name}.draft")
        draft.write_bytes(content)
        draft.replace(path)

    def remove(self, number: int) -> None:
        """Remove a file, if it is there."""
        self._file(number).unlink(missing_ok=True)
