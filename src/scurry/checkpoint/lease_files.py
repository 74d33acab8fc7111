"""Where leases are kept: small numbered files, each of which somebody creates first.

All that is asked of the storage is what object stores promise: a file appears whole or not at all,
a file can be created only if there is none of its name, and a listing shows what was there when it
began. Nobody writes a file that somebody else has created. On a file system,
:class:`scurry.common.new_files.NumberedDirectory` keeps them.
"""

from __future__ import annotations

from typing import Protocol


class LeaseFiles(Protocol):
    """Numbered files of one checkpoint."""

    @property
    def silent(self) -> bool:
        """Whether to write a file again costs something, so that signs of life are not written."""

    def identity(self) -> str:
        """A text by which a machine tells these files from copies of them; empty if it cannot."""

    def numbers(self) -> list[int]:
        """The numbers of all files."""

    def read(self, number: int) -> bytes | None:
        """The content of a file, None if it is gone."""

    def create(self, number: int, content: bytes) -> bool:
        """Create a file, whole; False if there is one of that number already."""

    def replace(self, number: int, content: bytes) -> None:
        """Give a file that this process has created other content, whole."""

    def remove(self, number: int) -> None:
        """Remove a file, if it is there."""


class MemoryLeaseFiles:
    """:class:`LeaseFiles` in a dict, for drivers that are objects of one process."""

    def __init__(self) -> None:
        self._files: dict[int, bytes] = {}

    @property
    def silent(self) -> bool:
        return False

    def identity(self) -> str:
        return ""

    def numbers(self) -> list[int]:
        return list(self._files)

    def read(self, number: int) -> bytes | None:
        return self._files.get(number)

    def create(self, number: int, content: bytes) -> bool:
        return self._files.setdefault(number, content) is content

    def replace(self, number: int, content: bytes) -> None:
        self._files[number] = content

    def remove(self, number: int) -> None:
        self._files.pop(number, None)
