"""The schemas of a slot's states, kept in a table of their own beside the data.

When a state is opened, what the program says about it is compared with what is written down here.
If stored data cannot be read any more, the job fails now, not at the first unlucky record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, TypeVar

import msgspec

from scurry.common.errors import StateError
from scurry.state.codecs.declared import declared_type, decoders_of
from scurry.state.codecs.pickles import find_class
from scurry.state.codecs.records import OldVersion, RecordCodec
from scurry.state.codecs.schema import Schema, class_name, misfit, name_of, schema_of, seen_schema
from scurry.state.freezing import Leftovers
from scurry.state.journal import Change, RecordReader, in_groups
from scurry.state.states import (
    MapStateDescriptor,
    SetStateDescriptor,
    StateDescriptor,
)

TABLE = "#schemas"
#: By state: the numbers that versions of its schema have from now on.
Renumbering = dict[str, list[int]]


class SchemaRow(msgspec.Struct, array_like=True):
    """What is written down about one state."""

    kind: str
    #: the schemas that records may have been written under, the current one last
    versions: list[Any]
    #: whether the state has a time to live, and when records without a time count as written
    ttl: bool = False
    since: int | None = None
    #: the time to live in milliseconds, and whether event time is its clock; versions that did not
    #: write it down have left 0
    lifetime: int = 0
    event_time: bool = False


_rows = msgspec.msgpack.Decoder(SchemaRow)
#: What is written down about a state, of the bytes in the table.
decode_row = _rows.decode
_encode = msgspec.msgpack.Encoder().encode


class SchemaTable:
    """The schemas of all states of a slot."""

    def __init__(self, store: RecordReader) -> None:
        self._store = store
        self._rows: dict[str, SchemaRow] = {}
        self._codecs: dict[str, RecordCodec] = {}
        self._known: dict[str, bytes | None] = {}
        self._pending: dict[str, bytes] = {}
        self._gone: set[str] = set()
        self._converting: set[str] = set()

    def open(self, name: str, descriptor: StateDescriptor) -> RecordCodec:
        """The codec of a state, which is now open under ``name``; raises if stored data does not
        fit what the descriptor says."""
        schema = descriptor_schema(descriptor)
        kind = type(descriptor).__name__.removesuffix("Descriptor")
        ttl = descriptor.ttl_config is not None and descriptor.ttl_config.is_enabled()
        life = _life(descriptor) if ttl else (0, False)
        stored = self._stored(name)
        older: dict[int, OldVersion] = {}
        if stored is None or next(iter(self._store.scan(name)), None) is None:
            row = SchemaRow(kind, [schema], ttl, None, *life)
        else:
            since = stored.since if stored.ttl else None
            row = SchemaRow(kind, list(stored.versions), ttl, since, *life)
            older = _older(name, stored, kind, schema, descriptor)
            if not _same(row.versions[-1], schema):
                row.versions.append(schema)
        codec = RecordCodec(
            name,
            None if isinstance(descriptor, SetStateDescriptor) else descriptor.value_type,
            version=len(row.versions) - 1,
            older=older,
            stamped=ttl,
        )
        self._rows[name] = row
        if descriptor.migration is not None:
            self._converting.add(name)
        self._codecs[name] = codec
        return codec

    def kind_of(self, name: str) -> str:
        """What kind of state is open under ``name``, empty if none is."""
        return self._rows[name].kind if name in self._rows else ""

    def type_of(self, name: str) -> tuple[Schema, int] | None:
        """The schema of the state that is open under ``name``, and how many others came before it;
        None if none is open."""
        row = self._rows.get(name)
        return None if row is None else (row.versions[-1], len(row.versions) - 1)

    def declared(self) -> Iterator[tuple[str, str, Schema, bool]]:
        """All states that are open: name, kind, schema, and whether the program can convert values
        of other types."""
        for name, row in self._rows.items():
            yield name, row.kind, row.versions[-1], name in self._converting

    def encoded(self, name: str) -> bytes:
        """What is written down about the state that is open under ``name``, see
        :data:`decode_row`."""
        return _encode(self._rows[name])

    def drop(self, names: Iterable[str]) -> None:
        """Forget the schemas of states that were dropped."""
        self._gone.update(names)

    def since(self, name: str) -> int | None:
        """The time at which records of ``name`` that carry no time count as written."""
        return self._rows[name].since

    def begin(self, name: str, since: int) -> None:
        """Let records of ``name`` that carry no time count as written at ``since``."""
        self._rows[name].since = since

    def _stored(self, name: str) -> SchemaRow | None:
        if name not in self._known:
            self._known[name] = self._store.get(TABLE, name.encode())
        found = self._known[name]
        return None if found is None else _rows.decode(found)

    @in_groups
    def changes(self) -> Iterator[Change]:
        """What changed since the last commit, as bytes; to be asked after all tables."""
        for name in sorted(self._gone - self._rows.keys()):
            yield TABLE, name.encode(), None
        for name, row in self._rows.items():
            seen = seen_in(row.versions[-1])
            if seen is not None:
                self._add_seen(name, row, seen)
            data = _encode(row)
            if data != self._known.get(name):
                self._pending[name] = data
                yield TABLE, name.encode(), data

    def _add_seen(self, name: str, row: SchemaRow, seen: dict[str, Any]) -> None:
        stored = self._stored(name)
        if stored is not None and len(stored.versions) == len(row.versions):
            for known, schema in (seen_in(stored.versions[-1]) or {}).items():
                seen.setdefault(known, schema)
        for cls in self._codecs[name].seen:
            if class_name(cls) not in seen:
                seen[class_name(cls)] = seen_schema(cls)

    def settle(self) -> None:
        """The changes are committed."""
        self._known.update(self._pending)
        self._pending.clear()
        self._gone.clear()

    def forget(self) -> None:
        """The store below is no longer what was read."""
        self._known.clear()
        self._pending.clear()

    freezes = True

    @property
    def changed(self) -> int:
        """How many schemas there are."""
        return len(self._rows)

    def freeze(self) -> None:
        """See :mod:`scurry.state.freezing`: the commit under way has what is written down now."""
        self._gone.clear()

    def thaw(self) -> Leftovers:
        """The commit is written."""
        self.forget()
        return Leftovers()

    def count(self) -> int:
        """How many records the table has."""
        return sum(1 for _ in self._store.scan(TABLE))


S = TypeVar("S")


def merge_schemas(
    slots: Mapping[S, Mapping[bytes, bytes]],
) -> tuple[dict[bytes, bytes], dict[S, Renumbering]]:
    """One table of schemas for what several slots hold, and how the versions that records name
    have to be renumbered, for the slots and states where they have to.

    A slot that held nothing of a state when its type changed counts versions from the new type on.
    """
    rows: dict[bytes, bytes] = {}
    renumbering: dict[S, Renumbering] = {}
    for name in sorted({name for held in slots.values() for name in held}):
        found = {slot: _rows.decode(held[name]) for slot, held in slots.items() if name in held}
        merged = max(found.values(), key=lambda row: len(row.versions))
        versions = list(merged.versions)
        for slot, row in found.items():
            numbers = [_number(versions, at, schema) for at, schema in enumerate(row.versions)]
            if numbers != list(range(len(numbers))):
                renumbering.setdefault(slot, {})[name.decode()] = numbers
        times = [row.since for row in found.values() if row.since is not None]
        since = max(times, default=None)
        row = msgspec.structs.replace(merged, versions=versions, since=since)
        rows[name] = _encode(row)
    return rows, renumbering


def _number(versions: list[Any], at: int, schema: Schema) -> int:
    """The number of ``schema`` among ``versions``, which may get longer; ``at`` if possible."""
    for number in chain((at,), range(len(versions))):
        if number < len(versions) and _merge(versions[number], schema):
            return number
    versions.append(schema)
    return len(versions) - 1


def _merge(schema: Schema, other: Schema) -> bool:
    """Whether both can be one version; then classes seen by ``other`` are added to ``schema``."""
    seen, more = seen_in(schema), seen_in(other)
    if seen is None or more is None:
        return bool(schema == other)
    if any(seen.get(name, known) != known for name, known in more.items()):
        return False
    seen.update(more)
    return True


def descriptor_schema(descriptor: StateDescriptor) -> Schema:
    """What a descriptor says that its state holds."""
    values = schema_of(descriptor.value_type)
    if isinstance(descriptor, MapStateDescriptor):
        return {"map": [schema_of(descriptor.key_type_info), values]}
    return {"set": values} if isinstance(descriptor, SetStateDescriptor) else values


def _life(descriptor: StateDescriptor) -> tuple[int, bool]:
    """How long entries live, in milliseconds, and whether event time is the clock."""
    config = descriptor.ttl_config
    assert config is not None
    return config.get_ttl().to_milliseconds(), config.by_event_time


def _value_schema(kind: str, schema: Schema) -> Schema:
    return schema["map"][1] if kind == "MapState" else schema


def seen_in(schema: Schema) -> dict[str, Any] | None:
    """The classes seen in values, None if the values have a declared type."""
    if isinstance(schema, dict) and "map" in schema:
        schema = schema["map"][1]
    if isinstance(schema, dict) and "any" in schema:
        found: dict[str, Any] = schema["any"]
        return found
    return None


def _same(stored: Schema, schema: Schema) -> bool:
    """Whether records of both may carry the same version."""
    seen, mine = seen_in(stored), seen_in(schema)
    if seen is None or mine is None:
        return bool(stored == schema)
    return all(schema is None or _unchanged(name, schema) for name, schema in seen.items())


def _unchanged(name: str, schema: Schema) -> bool:
    module, _, qualname = name.partition(":")
    found = find_class(module, qualname)
    return isinstance(found, type) and seen_schema(found) == schema


def _older(
    name: str, stored: SchemaRow, kind: str, schema: Schema, descriptor: StateDescriptor
) -> dict[int, OldVersion]:
    if stored.kind != kind:
        raise _unfit(name, f"{stored.kind} became {kind}", stored.kind, kind, "")
    older: dict[int, OldVersion] = {}
    migrate: Callable[[Any], Any] | None = descriptor.migration
    typed = declared_type(descriptor.value_type) is not None
    for version, old in enumerate(stored.versions):
        reason = misfit(old, schema)
        if reason is None:
            decoders = None if typed else decoders_of(_value_schema(kind, old))
            older[version] = OldVersion(*(decoders or (None, None)))
        elif migrate is not None:
            older[version] = OldVersion(migrate=migrate)
        else:
            advice = (
                "Go back to the old type, or give the descriptor a function that converts old "
                "values: descriptor.migrate_with(lambda old: ...)."
            )
            raise _unfit(name, reason, name_of(old), name_of(schema), advice)
    return older


def _unfit(name: str, reason: str, old: str, new: str, advice: str) -> StateError:
    operator, _, state = name.partition("\x1f")
    advice = advice or "Give the new state a name of its own."
    return StateError(
        f"State {state!r} of operator {operator!r} cannot be read by this program: {reason}.\n"
        f"  in the checkpoint: {old}\n  in the program:    {new}\n{advice}"
    )
