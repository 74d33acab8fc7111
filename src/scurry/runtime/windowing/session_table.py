"""The open sessions of all keys of one slot, and what they hold.

Two sessions of a key never touch, so in the order of their starts they are in the order of their
ends as well: those that are due are found by bisection. Where sessions lie is always in memory.
What they hold is too, up to a limit; beyond that it is read again when it is needed.

A session has one or more *births*: the time of the element that began it and, for each session that
it has swallowed, the births of that one. No two open sessions of a key share a birth, so births
serve as addresses in the store: the session itself lies under its first birth, and its elements lie
under the birth that was the last one when they came, as one record for each micro-batch that
brought some. A session that grows, or swallows another one, therefore moves nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import attrgetter

from scurry.common.values import Combined, Contents
from scurry.runtime.windowing.slices import row_of
from scurry.state.codecs.encoding import IMMUTABLE
from scurry.state.journal import Change, in_groups
from scurry.state.slot_store import SlotStore
from scurry.state.tables.table import MISSING, pack_record, prefix_of, unpack_record

#: The tables of sessions with the value that each has combined, of sessions whose elements are
#: elsewhere, and of those elements.
SESSION_VALUES, SESSION_SPANS = "#session-values", "#session-spans"
SESSION_ELEMENTS = "#session-elements"
#: Elements, or values, kept in memory across micro-batches.
KEEP = 500_000
NEVER = 1 << 63
#: The value of a session that has failed and holds nothing, until another element comes.
EMPTY: Contents = type("Empty", (), {"__repr__": lambda self: "EMPTY"})()
_end = attrgetter("end")


class Session:
    """One open session."""

    __slots__ = (
        "alive",
        "births",
        "changed",
        "earlier",
        "end",
        "fresh",
        "held",
        "index",
        "pieces",
        "start",
        "stored",
    )

    def __init__(self, start: int, end: int, births: tuple[int, ...], stored: bool) -> None:
        self.start, self.end, self.births = start, end, births
        #: whether the session is in the store, and whether elements of it are
        self.stored = self.pieces = stored
        #: the value, or the elements that came before ``fresh``; MISSING if it is not in memory
        self.held: Contents = MISSING
        #: elements that are to be stored under the last birth, and under earlier ones
        self.fresh: list[object] = []
        self.earlier: tuple[tuple[int, list[object]], ...] = ()
        self.changed, self.alive = False, True
        #: how often it has fired, or a session that has become part of it
        self.index = 0


class KeySessions:
    """The sessions of one key in the order of time; those before ``first`` are over."""

    __slots__ = ("due", "first", "key", "order", "prefix")

    def __init__(self, key: object, prefix: bytes) -> None:
        self.key, self.prefix = key, prefix
        self.order: list[Session] = []
        self.first = 0
        #: when the agenda looks at this key next; nothing is to happen before
        self.due = NEVER

    def ending_from(self, last: int) -> int:
        """The place of the first session whose last instant is not before ``last``."""
        return bisect_left(self.order, last + 1, self.first, key=_end)

    def next_from(self, time: int, lateness: int) -> int:
        """When a session fires or is over next, from ``time`` on; not before ``time`` in any
        case."""
        order, found = self.order, NEVER
        if len(order) == 1 and not lateness:
            return order[0].end - 1
        place = self.ending_from(time)
        if place < len(order):
            found = order[place].end - 1
        if lateness and self.first < len(order):
            found = min(found, max(time, over(order[self.first], lateness)))
        return found


def over(session: Session, lateness: int) -> int:
    """When a session is forgotten."""
    return min(session.end - 1 + lateness, NEVER - 1)


class SessionTable:
    """The sessions of one operator and slot. With ``combining`` each holds one value, otherwise
    all its elements."""

    def __init__(self, uid: str, store: SlotStore, combining: bool) -> None:
        self.name = f"{uid}\x1f{SESSION_VALUES if combining else SESSION_SPANS}"
        self._elements = f"{uid}\x1f{SESSION_ELEMENTS}"
        self._combining = combining
        self._slot, self._store = store, store.reader
        self._loaded = False
        self.keys: dict[object, KeySessions] = {}
        #: sessions to be written, with their keys
        self._changed: list[tuple[KeySessions, Session]] = []
        #: addresses of sessions, and of the births of sessions, that the store is to forget
        self._gone: list[bytes] = []
        self._gone_pieces: list[bytes] = []
        #: about how many elements or values are in memory
        self._in_memory = 0

    def load(self) -> bool:
        """Read the open sessions from the store, if they are not in memory; True if that was so.
        Called at the start of each micro-batch."""
        if self._loaded:
            return False
        self._loaded = True
        for _, record in self._store.scan(self.name):
            key, (start, end, births, index, *value) = unpack_record(record)
            session = Session(start, end, tuple(births), True)
            session.index = index
            if value and self._in_memory < KEEP:
                session.held = _value(value)
                self._in_memory += 1
            self.of(key).order.append(session)
        for sessions in self.keys.values():
            sessions.order.sort(key=_end)
        return True

    def of(self, key: object) -> KeySessions:
        """The sessions of a key, which may have none yet."""
        found = self.keys.get(key)
        if found is None:
            prefix = prefix_of(key, self._slot.max_parallelism)
            found = self.keys[key] = KeySessions(key, prefix)
        return found

    def begin(
        self, sessions: KeySessions, place: int, start: int, end: int, value: object
    ) -> Session:
        """Begin a session of a key, at ``place`` in the order of its sessions. ``value`` is what it
        has combined, or an empty list of elements."""
        session = Session(start, end, (start,), False)
        session.held = value
        sessions.order.insert(place, session)
        session.changed = True
        self._changed.append((sessions, session))
        return session

    def change(self, sessions: KeySessions, session: Session) -> None:
        """Have the session written at the commit. Called when it is about to change for the first
        time since the last commit."""
        session.changed = True
        self._changed.append((sessions, session))

    def contents(self, sessions: KeySessions, session: Session) -> Contents:
        """What a session holds."""
        if session.held is MISSING:
            session.held = self._read(sessions.prefix, session)
        if self._combining:
            return session.held
        return [*session.held, *session.fresh] if session.held else session.fresh

    def _read(self, prefix: bytes, session: Session) -> Contents:
        self._in_memory += 1
        if self._combining:
            record = self._store.get(self.name, prefix + row_of(session.births[0]))
            assert record is not None
            return _value(unpack_record(record)[1][4:])
        found: list[object] = []
        for birth in session.births:
            for _, record in self._pieces(prefix + row_of(birth)):
                found += unpack_record(record)[1]
        self._in_memory += len(found)
        return found

    def _pieces(self, start: bytes) -> Iterator[tuple[bytes, bytes]]:
        for address, record in self._store.scan(self._elements, start):
            if not address.startswith(start):
                return
            yield address, record

    def absorb(self, sessions: KeySessions, one: Session, other: Session, value: object) -> None:
        """``other``, which comes right after ``one``, becomes part of it; ``value`` is what both
        have combined."""
        if self._combining:
            one.held = value
        else:
            self.contents(sessions, other)
            one.held = [*self.contents(sessions, one), *other.held]
            one.earlier = (*one.earlier, (one.births[-1], one.fresh), *other.earlier)
            one.fresh, one.pieces = other.fresh, one.pieces or other.pieces
        one.births += other.births
        one.index = max(one.index, other.index)
        other.alive = False
        if other.stored:
            self._gone.append(sessions.prefix + row_of(other.births[0]))

    def drop(self, sessions: KeySessions, session: Session) -> None:
        """A session is over."""
        session.alive = False
        if session.stored:
            self._gone.append(sessions.prefix + row_of(session.births[0]))
            self._in_memory -= 1 if session.held is not MISSING else 0
        if session.pieces and not self._combining:
            self._gone_pieces += [sessions.prefix + row_of(birth) for birth in session.births]
            if session.held is not MISSING:
                self._in_memory -= len(session.held)

    def empty(self, sessions: KeySessions, session: Session) -> None:
        """A session has failed: forget what it holds."""
        if not session.changed:
            self.change(sessions, session)
        if self._combining:
            session.held = EMPTY
            return
        if session.pieces:
            self._gone_pieces += [sessions.prefix + row_of(birth) for birth in session.births]
        self._in_memory -= len(session.held)
        session.held, session.fresh, session.earlier, session.pieces = (), [], (), False

    def retire(self, sessions: KeySessions, until: int) -> None:
        """The sessions at the places before ``until`` have been dropped."""
        order = sessions.order
        if until == len(order):
            del self.keys[sessions.key]
        elif until * 2 > len(order):
            del order[:until]
            sessions.first = 0
        else:
            sessions.first = until

    def touch_mutable(self, sessions: KeySessions, session: Session) -> None:
        """Have the session written at the commit if user code could have changed its value in
        place. Called when user code was given the value."""
        if type(session.held) not in IMMUTABLE and not session.changed:
            self.change(sessions, session)

    @in_groups
    def changes(self) -> Iterator[Change]:
        """What changed since the last commit, as bytes."""
        for address in self._gone:
            yield self.name, address, None
        for start in self._gone_pieces:
            for address, _ in self._pieces(start):
                yield self._elements, address, None
        epoch = self._slot.epoch.to_bytes(8, "big")
        for sessions, session in self._changed:
            if not session.alive:
                continue
            key, prefix = sessions.key, sessions.prefix
            told = [session.start, session.end, session.births, session.index]
            if self._combining:
                told += (None, True) if session.held is EMPTY else (session.held,)
            yield self.name, prefix + row_of(session.births[0]), pack_record(key, tuple(told))
            for birth, values in (*session.earlier, (session.births[-1], session.fresh)):
                if values:
                    address = prefix + row_of(birth) + epoch
                    yield self._elements, address, pack_record(key, values)

    def settle(self) -> None:
        """The changes are in the store now."""
        for _, session in self._changed:
            if not session.alive:
                continue
            if not session.stored:
                session.stored = True
                self._in_memory += 1
            session.changed = False
            if session.fresh or session.earlier:
                session.pieces = True
                if session.held is not MISSING:
                    session.held = [*session.held, *session.fresh]
                    self._in_memory += len(session.fresh)
                session.fresh, session.earlier = [], ()
        for held in (self._changed, self._gone, self._gone_pieces):
            held.clear()
        if self._in_memory > KEEP:
            self._in_memory = 0
            for sessions in self.keys.values():
                for session in sessions.order:
                    session.held = MISSING

    def forget(self) -> None:
        """Drop everything held in memory."""
        self._loaded = False
        self._in_memory = 0
        for held in (self.keys, self._changed, self._gone, self._gone_pieces):
            held.clear()


def _value(stored: Sequence[Combined]) -> Combined:
    """What a session has combined; a second item says that it is nothing."""
    return stored[0] if len(stored) == 1 else EMPTY
