"""The contract of local stores: the records of one slot beside the worker, on disk or in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from scurry.state.journal import Group


class Size(NamedTuple):
    """How large a table is."""

    entries: int
    #: keys included
    bytes: int


@dataclass(frozen=True)
class Commit:
    """What one micro-batch leaves in a local store."""

    #: the lineage id the store has to hold for this to be written
    base: bytes | None
    #: the one it holds afterwards
    lineage: bytes
    changes: Collection[Group] = ()
    #: tables that are removed before anything is written
    emptied: Collection[str] = ()


class Store(ABC):
    """Records of one slot, in tables, with the lineage id of the commit they are of.

    A micro-batch goes ``check``, ``begin``, reads, ``verify``, ``apply``, ``confirm``.
    """

    #: where it lies, None if nowhere
    path: Path | None
    #: whether another process can write to it
    shared = False

    def prepare_copy(self) -> None:
        """A copy of this process is about to be made, and will write to the store: see that neither
        has anything to do with what the other reads."""
        self.end()

    def reopen(self) -> None:
        """This process is a copy of the one that has opened the store: open it anew. The copy
        closes the store before it ends."""
        raise NotImplementedError

    def seclude(self) -> None:
        """Another process has the store open, and does not end: share nothing with it from now on,
        and begin with an empty store. Called before :meth:`check`."""

    @abstractmethod
    def check(self) -> None:
        """Start a micro-batch: make sure that the store is as the last micro-batch left it, or
        empty."""

    @abstractmethod
    def begin(self) -> None:
        """Start reading: everything read until :meth:`end` is of one instant."""

    @abstractmethod
    def end(self) -> None:
        """Stop reading."""

    @abstractmethod
    def lineage(self) -> bytes | None:
        """The lineage id of the commit this store holds, None for an empty store."""

    @abstractmethod
    def get(self, table: str, key: bytes) -> bytes | None:
        """A record, None if there is none."""

    @abstractmethod
    def get_many(self, table: str, keys: list[bytes]) -> list[bytes | None]:
        """The records of many keys."""

    @abstractmethod
    def scan(self, table: str, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Keys and records of a table in the order of their keys, from ``start`` on."""

    def blocks(
        self, table: str, start: bytes = b"", at_once: int = 1000
    ) -> Iterator[tuple[list[bytes], list[bytes]]]:
        """What :meth:`scan` finds, many at a time."""
        found = self.scan(table, start)
        while some := list(islice(found, at_once)):
            yield [key for key, _ in some], [record for _, record in some]

    @abstractmethod
    def tables(self) -> list[str]:
        """The names of all tables."""

    @abstractmethod
    def sizes(self) -> dict[str, Size]:
        """The sizes of all tables as of the last commit; bytes may be an estimate."""

    @property
    @abstractmethod
    def entries(self) -> int:
        """How many records there are, in all tables."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many bytes the records take, keys included."""

    @abstractmethod
    def outgrown_by(self, keys: list[bytes], written: int) -> bool:
        """Whether a table with changes at ``keys``, of which so many are ``written`` and the others
        removed, is better kept in runs."""

    @abstractmethod
    def verify(self) -> None:
        """Make sure that what was read since :meth:`begin` was not damaged meanwhile."""

    @abstractmethod
    def apply(self, commit: Commit) -> bool:
        """Write all of ``commit``.

        Returns False, leaving the store torn, with the lineage of no commit, when it no longer
        holds ``commit.base``: another attempt at the same work got in between, so what was read
        may not be what is here.
        """

    @abstractmethod
    def confirm(self) -> None:
        """The micro-batch has ended well: what is here now is to be believed."""

    @abstractmethod
    def reset(self) -> None:
        """Go on with an empty store."""

    @abstractmethod
    def close(self, erase: bool = False) -> None:
        """Release the store, and with ``erase`` delete its files."""
