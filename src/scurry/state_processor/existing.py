"""A savepoint that there is, as the beginning of another one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from scurry.checkpoint.at_rest import at_rest, located
from scurry.checkpoint.copies import copy_room
from scurry.checkpoint.epochs import Epoch, decode_epoch
from scurry.checkpoint.written_state import ONLY
from scurry.common.any_paths import ObjectPath
from scurry.common.errors import StateError
from scurry.common.keys import thaw
from scurry.engine.spark.stored_journals import stored_journals
from scurry.runtime.report import decode_report
from scurry.runtime.rescaling import redeal, rule_of
from scurry.state.codecs.schemas import TABLE as SCHEMAS
from scurry.state.codecs.schemas import Renumbering, SchemaTable, decode_row
from scurry.state.inventory import uid_of_table
from scurry.state.journal import Group, RecordReader, stored_key, unpack_groups
from scurry.state.rescaling import Deal, Gathered, Place, Splitter
from scurry.state.slot_records import large_groups
from scurry.state.states import StateDescriptor
from scurry.state.stored_tables import StoredJournal
from scurry.state_processor.building import StateBuilder
from scurry.state_reader.contents import states_of
from scurry.state_reader.missing import no_such_state, operator_of
from scurry.state_reader.rows import ROWS_OF, StateRow


class Tables:
    """Which tables of a savepoint go, and which get other names."""

    def __init__(self) -> None:
        self._operators: set[str] = set()
        self._states: set[str] = set()
        self._names: dict[str, str] = {}

    def drop(self, uid: str, state: str) -> None:
        """Leave a state out."""
        self._states.add(f"{uid}\x1f{state}")

    def drop_operator(self, uid: str) -> None:
        """Leave an operator out."""
        self._operators.add(uid)

    def rename(self, old: str, new: str) -> None:
        """Give an operator another uid."""
        self._names[old] = new

    def is_dropped(self, uid: str, state: str | None = None) -> bool:
        """Whether a state goes, or all of an operator."""
        return uid in self._operators or f"{uid}\x1f{state}" in self._states

    def renamed(self, uid: str) -> str:
        """The uid that an operator has from now on."""
        return self._names.get(uid, uid)

    def name_of(self, table: str) -> str | None:
        """What a table is called from now on, None if it goes."""
        uid, apart, state = table.partition("\x1f")
        if uid in self._operators or table in self._states:
            return None
        return f"{self.renamed(uid)}{apart}{state}"

    def by_uid(self, held: Mapping[str, Any]) -> dict[str, Any]:
        """What is held by uid, without operators that go."""
        return {self.renamed(u): v for u, v in held.items() if u not in self._operators}

    def group(self, group: Group) -> Group | None:
        """Changes of a table as they are from now on."""
        table, keys, records = group
        if table != SCHEMAS:
            name = self.name_of(table)
            return None if name is None else (name, keys, records)
        kept = [
            (name.encode(), record)
            for key, record in zip(keys, records, strict=True)
            if (name := self.name_of(key.decode())) is not None
        ]
        return SCHEMAS, [key for key, _ in kept], [record for _, record in kept]


class ExistingSavepoint:
    """The savepoint or checkpoint in ``path``, as of its last committed micro-batch."""

    def __init__(self, path: str, session: Any) -> None:
        directory = located(str(path))
        found = at_rest(str(path))
        if found is None:
            raise StateError(f"There is no state in {path}: the job has committed nothing yet.")
        self._found = found
        self._layout = directory.layout
        self._session = session
        self._journals: dict[Place, StoredJournal] | None = None
        self.max_parallelism = found.max_parallelism
        self.checkpoint_id, self.name = directory.manifest.checkpoint_id, directory.manifest.name
        if directory.home_of(found.generation).plan(found.epoch.batch + 1).exists():
            raise StateError(
                f"A micro-batch was under way when the job in {path} ended, which sinks may have "
                "committed. Start the job once more and stop it with a savepoint; change that."
            )

    @property
    def uids(self) -> set[str]:
        """The operators that have state."""
        return {uid for uid, record in self._found.epoch.inventory.items() if record.states}

    def states(self, uid: str) -> dict[str, str]:
        """The states of an operator, with their kinds."""
        return operator_of(self._found.epoch, uid, self._found.root).states

    def check_operator(self, uid: str) -> None:
        """Raise :class:`StateError` if there is neither an operator with state nor a source of
        that uid."""
        if uid not in self._found.epoch.positions:
            operator_of(self._found.epoch, uid, self._found.root)

    def check_state(self, uid: str, name: str) -> None:
        """Raise :class:`StateError` if the operator has no such state."""
        if name not in self.states(uid):
            record = operator_of(self._found.epoch, uid, self._found.root)
            raise StateError(no_such_state(record, uid, name, states_of(self.journals, uid)))

    @property
    def journals(self) -> dict[Place, StoredJournal]:
        """The journals of all slots."""
        if self._journals is None:
            stages = set(range(1, self._found.stages + 1))
            self._journals = stored_journals(self._found, stages, self._session)
        return self._journals

    def rows(self, uid: str, descriptor: StateDescriptor) -> list[StateRow]:
        """What a state has for each key, as values of the types that ``descriptor`` gives."""
        self.check_state(uid, descriptor.name)
        table, found = f"{uid}\x1f{descriptor.name}", list[StateRow]()
        for _, journal in sorted(self.journals.items()):
            schema = journal.schemas.get(stored_key(table.encode()))
            if schema is not None:
                codec = SchemaTable(_OneSchema(schema)).open(table, descriptor)
                records = journal.tables([table])[table]
                row = decode_row(schema)
                found.extend(ROWS_OF[row.kind](records, codec, row))  # type: ignore[arg-type]
        for each in found:
            each.key = thaw(each.key)
        return found

    def copy(
        self, builder: StateBuilder, tables: Tables
    ) -> tuple[dict[str, Any], int, list[Group]]:
        """Write all that stays to ``builder``. Returns the notes of the slot, the number that is
        beyond those of the journals, and the tables that were gathered."""
        heads = {place: journal.head for place, journal in self.journals.items()}
        uids = {uid_of_table(name) for name in self._tables()}
        deal = Deal(
            *(1, self.max_parallelism, dict.fromkeys(uids, 1), rule_of),
            *(dict.fromkeys(uids, ONLY.stage), 1),
        )
        # if records have to be renumbered, they are dealt out twice, and the second time counts
        blobs: list[bytes] = []

        def split(renumbering: Mapping[Place, Renumbering]) -> dict[Place, Gathered]:
            blobs.clear()
            return {
                place: self._split(place, deal, blobs.append, renumbering.get(place))
                for place in sorted(self.journals)
            }

        starts = redeal(heads, split, deal, self._found.generation.operators)
        for blob in blobs:
            builder.copy(_kept(blob, tables))
        if not starts:
            return {"gates": {}, "cells": {}, "stage": ONLY.stage}, 0, []
        start = starts[ONLY]
        notes = decode_report(start.notes)
        notes["gates"] = tables.by_uid(notes["gates"])
        notes["cells"] = {
            f"{tables.renamed(name.rpartition('|')[0])}|{name.rpartition('|')[2]}": value
            for name, value in notes["cells"].items()
        }
        return notes, start.base, list(_kept(start.entry, tables))

    def _tables(self) -> set[str]:
        found: set[str] = set()
        for journal in self.journals.values():
            head = journal.head
            for seq in range(head.first, head.next):
                found.update(group[0] for group in unpack_groups(journal.read(seq)))
            found.update(head.runs)
        return found - {SCHEMAS}

    def _split(
        self,
        place: Place,
        deal: Deal,
        write: Callable[[bytes], None],
        renumbering: Renumbering | None,
    ) -> Gathered:
        journal = self.journals[place]
        head = journal.head
        splitter = Splitter(place, deal, lambda _, blob: write(blob), renumbering, head.counts)
        for seq in range(head.first, head.next):
            splitter.take(seq, journal.read(seq))
        for group in large_groups(head, journal.runs):
            splitter.take_group(group)
        splitter.finish()
        return splitter.gathered

    def epoch_after(self, tables: Tables) -> Epoch:
        """Where the job stands, with what stays of it."""
        made = decode_epoch(msgspec.json.encode(self._found.epoch))
        made.positions, made.splits = tables.by_uid(made.positions), tables.by_uid(made.splits)
        made.finished = list(tables.by_uid(dict.fromkeys(made.finished)))
        made.partitions = [
            msgspec.structs.replace(each, source=tables.renamed(each.source))
            for each in made.partitions
            if not tables.is_dropped(each.source)
        ]
        made.operators.states = tables.by_uid(made.operators.states)
        made.operators.unions = tables.by_uid(made.operators.unions)
        for uid, record in made.inventory.items():
            record.stages = sorted({stage and ONLY.stage for stage in record.stages})
            for name in [name for name in record.states if tables.is_dropped(uid, name)]:
                del record.states[name]
                record.sizes.pop(name, None)
                record.types.pop(name, None)
                record.forms.pop(name, None)
        made.inventory = tables.by_uid(made.inventory)
        # the state is written as files of another form
        made.journals = {}
        return made

    def copy_rooms(self, target: Path, tables: Tables) -> None:
        """Copy what sources and sinks keep in the checkpoint. Raises :class:`StateError` if that is
        in an object store."""
        stored = self._layout.stored_rooms
        if isinstance(stored, ObjectPath) and stored.store.find(stored.key):
            raise StateError(
                f"{self._layout.root} holds rows of a DataFrame that wait for the job, and they "
                "cannot be carried over into a savepoint that is written as data. Take a savepoint "
                "when the source of the DataFrame has ended."
            )
        copy_room(self._layout.rooms, target)
        for uid in self._found.epoch.inventory.keys() | self._found.epoch.positions.keys():
            room, new = (target / quote(name, safe="") for name in (uid, tables.renamed(uid)))
            if room != new and room.exists():
                room.rename(new)

    def close(self) -> None:
        """Remove what was copied for reading."""
        self._found.close()


def _kept(blob: bytes, tables: Tables) -> Iterator[Group]:
    for group in unpack_groups(blob):
        made = tables.group(group)
        if made is not None and made[1]:
            yield made


class _OneSchema(RecordReader):
    """A store that has the schema of a state, and something of the state."""

    def __init__(self, schema: bytes) -> None:
        self._schema = schema

    def get(self, table: str, key: bytes) -> bytes | None:
        return self._schema

    def get_many(self, table: str, keys: list[bytes]) -> list[bytes | None]:
        return [None] * len(keys)

    def scan(self, table: str, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        yield b"", b""
