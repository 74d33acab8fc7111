"""Files that one of several creates, and no other: what object stores call a conditional put."""

from __future__ import annotations

from scurry.common.any_paths import AnyPath, ObjectPath, create_whole, names_in

_SUFFIX = ".json"


class NumberedDirectory:
    """Files with numbers for names, each of which one of several creates."""

    @property
    def silent(self) -> bool:
        """Whether to write a file again costs something, as it does in an object store."""
        return isinstance(self._path, ObjectPath)

    def __init__(self, path: AnyPath) -> None:
        self._path = path

    def _file(self, number: int) -> AnyPath:
        return self._path / f"{number:09d}{_SUFFIX}"

    def identity(self) -> str:
        """A text by which this machine tells the directory from others, copies of it included; the
        directory is made if it is not there. Empty in an object store."""
        if isinstance(self._path, ObjectPath):
            return ""
        self._path.mkdir(parents=True, exist_ok=True)
        found = self._path.stat()
        return f"{found.st_dev}:{found.st_ino}"

    def numbers(self) -> list[int]:
        """The numbers of all files."""
        stems = (name.removesuffix(_SUFFIX) for name in names_in(self._path))
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
        if isinstance(path, ObjectPath):
            path.write_bytes(content)
            return
        draft = path.with_name(f"{path.name}.draft")
        draft.write_bytes(content)
        draft.replace(path)

    def remove(self, number: int) -> None:
        """Remove a file, if it is there."""
        self._file(number).unlink(missing_ok=True)
