"""Feeds: what slots tell of the states that may be queried while the job runs.

A state is *queryable* if its descriptor says so. Queries are not answered by slots, which work on
micro-batches that may never be committed, but from a *view*: a copy of the queryable states as of
the last committed micro-batch (:mod:`scurry.engine.queryable`). At the commit of a micro-batch a
slot hands over what it has changed in those states, the very records that it writes to its journal.
They travel to the driver with everything else that tasks report, and reach the view when the
micro-batch is committed. So a view never holds what a crash takes back.

A view begins empty. What a slot has told a view is written down in the slot's notes, which are part
of the journal and therefore agree with what is committed: a slot that finds a view there which it
has not told of a table yet hands over the table as a whole. That is how a view is filled when a job
starts, is restored or rescaled, and when a function asks for a state for the first time.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from scurry.common.errors import ProgramError
from scurry.state.codecs.schemas import SchemaTable
from scurry.state.journal import Group, chunked, pack, unpack_groups
from scurry.state.layout import StateLayout
from scurry.state.slot_records import SlotRecords

#: The kind of what windows hold; all other kinds are those of states.
WINDOWS = "Windows"
#: Bytes of changes up to which they travel in the message itself.
_INLINE = 64 << 10


class QueryableState(msgspec.Struct, frozen=True):
    """What a slot says of a state that may be queried."""

    #: what queries call it
    name: str
    uid: str
    operator: str
    #: the tables that hold it; those of windows may be several
    tables: tuple[str, ...]
    #: such as ``ValueState``, or :data:`WINDOWS`
    kind: str
    #: what is written down about the type, see :class:`scurry.state.codecs.schemas.SchemaRow`
    schema: bytes = b""
    #: whether values that have expired are shown as long as they are there
    shows_expired: bool = False
    #: of an aggregating state its descriptor, of windows the function that combines their elements
    program: bytes = b""
    #: of windows, how they are stored, and the parallelism of their operator
    layout: StateLayout | None = None
    parallelism: int = 0


class Piece(msgspec.Struct, frozen=True, array_like=True):
    """Some changes: packed, or the name of the file with them."""

    content: bytes = b""
    file: str = ""

    def changes(self, directory: Path | None) -> list[Group]:
        """The changes; files lie in ``directory``."""
        if not self.file:
            return unpack_groups(self.content)
        assert directory is not None
        return unpack_groups((directory / self.file).read_bytes())


class Feed(msgspec.Struct, frozen=True, array_like=True):
    """What one slot has to tell a view of one micro-batch."""

    #: which view is meant
    view: str
    stage: int
    slot: int
    #: states that the view has to know, or that have changed in kind
    states: list[QueryableState]
    #: changes in the order in which they have to be made
    pieces: list[Piece]


_feeds = msgspec.msgpack.Decoder(Feed)
decode_feed: Callable[[bytes], Feed] = _feeds.decode
encode_feed: Callable[[Feed], bytes] = msgspec.msgpack.Encoder().encode


class SlotFeed:
    """The feed of one slot for the view ``view``; large changes become files in ``directory``."""

    def __init__(self, view: str, directory: Path | None = None) -> None:
        self.view = view
        self._directory = directory
        self._states: dict[str, QueryableState] = {}
        self._tables: set[str] = set()
        #: tables that the view has been told of, as far as that is committed
        self._told: set[str] = set()
        #: what the view has been told of states by this process
        self.shown: dict[str, QueryableState] = {}
        self._taken: list[QueryableState] = []
        self._pieces: list[Piece] = []
        #: changes of the commit under way that nobody has packed yet
        self._changes: list[Group] = []

    def declare(self, state: QueryableState) -> None:
        """Let a state be queried. Called when its tables are made, before they are used."""
        known = self._states.setdefault(state.name, state)
        if known.tables != state.tables:
            raise ProgramError(two_of_a_name(known, state))
        self._tables.update(state.tables)

    def begin(self, notes: dict[str, Any]) -> None:
        """A micro-batch begins; ``notes`` are what the slot wrote down when the last one was
        committed."""
        view, told = notes.get("view", ("", ()))
        self._told = set(told) if view == self.view else set()
        self._taken, self._pieces = [], []

    @property
    def notes(self) -> dict[str, Any]:
        """What is to be written down with the next commit."""
        return {"view": (self.view, sorted(self._tables | self._told))} if self._tables else {}

    def take(self, changes: list[Group], records: SlotRecords, schemas: SchemaTable) -> None:
        """Hear of what a commit is about to write. ``records`` are those from before it. What goes
        to the log is taken over by :meth:`logged`, the rest by :meth:`finish`."""
        if not self._tables:
            return
        fresh = sorted(self._tables - self._told)
        described = [_with_schema(state, schemas) for state in self._states.values()]
        self._taken = [
            state
            for state in described
            if self.shown.get(state.name) != state or not self._told.issuperset(state.tables)
        ]
        self.shown = {state.name: state for state in described}
        self._changes = [group for group in changes if group[0] in self._tables]
        # what was there goes before what has changed
        self._pack((name, *block) for name in fresh for block in records.blocks(name))

    def logged(self, piece: list[Group], packed: bytes) -> None:
        """The commit has written an entry of the log. If all of it may be queried, it is told as it
        is, and not packed twice."""
        mine = [group for group in piece if group[0] in self._tables]
        if mine:
            self._add(packed if len(mine) == len(piece) else pack(mine))

    def finish(self, logged: list[Group]) -> None:
        """Take over the other changes; :meth:`logged` was told of ``logged``. Called after that."""
        known = {id(keys) for _, keys, _ in logged}
        self._pack(group for group in self._changes if id(group[1]) not in known)
        self._changes = []

    def _pack(self, groups: Iterable[Group]) -> None:
        for piece in chunked(groups):
            self._add(pack(piece))

    def _add(self, piece: bytes) -> None:
        self._pieces.append(self._filed(piece) if len(piece) > _INLINE else Piece(piece))

    def _filed(self, piece: bytes) -> Piece:
        if self._directory is None:
            return Piece(piece)
        self._directory.mkdir(parents=True, exist_ok=True)
        name = uuid.uuid4().hex
        (self._directory / name).write_bytes(piece)
        return Piece(file=name)

    def message(self, stage: int, slot: int) -> bytes | None:
        """What the view has to be told of the micro-batch, None if there is nothing. Called after
        the commit."""
        if not self._taken and not self._pieces:
            return None
        return encode_feed(Feed(self.view, stage, slot, self._taken, self._pieces))


def _with_schema(state: QueryableState, schemas: SchemaTable) -> QueryableState:
    """``state`` with what is written down about its type by now."""
    if state.kind == WINDOWS:
        return state
    return msgspec.structs.replace(state, schema=schemas.encoded(state.tables[0]))


def two_of_a_name(one: QueryableState, other: QueryableState) -> str:
    """What to say if two states have the same name for queries."""
    first, second = (
        f"{each.tables[0].partition(chr(31))[2]!r} of operator {each.operator!r} (uid {each.uid!r})"
        for each in (one, other)
    )
    return (
        f"Two states are queryable under the name {one.name!r}: {first} and {second}. Give "
        "set_queryable another name in one of them."
    )
