"""Rescaling a job: which rule each kind of table follows, and what becomes of the slots' notes.

How journals are dealt out is the business of :mod:`scurry.state.rescaling`. This module adds what
only the runtime knows: what its own tables hold, and what is in the notes of a slot, which are the
watermarks of its input channels and the cells of watermark strategies inside the stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from scurry.common.errors import StateError
from scurry.runtime.channels import sender_of, slot_of
from scurry.runtime.checkpointed import OPERATOR_STATES
from scurry.runtime.columnar.row_table import TABLES_OF_ROWS, RowTable
from scurry.runtime.event_time import redistribute_cells
from scurry.runtime.input_gate import InputGate
from scurry.runtime.interval_join import LEFT, RIGHT
from scurry.runtime.keyed_state import OWN
from scurry.runtime.relational.keyed import ROWS_OF_KEYS, VALUES_OF_KEYS
from scurry.runtime.report import decode_report, encode_report
from scurry.runtime.specs import JobSpec
from scurry.runtime.timers import EVENT, PROCESSING, TimerQueue, timer_table
from scurry.runtime.windowing.contents import ELEMENTS, VALUES
from scurry.runtime.windowing.contexts import OF_ASSIGNER, OF_TRIGGER, OF_WINDOW
from scurry.runtime.windowing.cuts import CUTS
from scurry.runtime.windowing.merging import MERGING_WINDOWS
from scurry.runtime.windowing.panes import PANES
from scurry.runtime.windowing.run_slices import SLICED_RUNS
from scurry.runtime.windowing.session_table import (
    SESSION_ELEMENTS,
    SESSION_SPANS,
    SESSION_VALUES,
)
from scurry.runtime.windowing.slices import (
    SESSION_COLUMNS,
    SLICED_COLUMNS,
    SLICED_ELEMENTS,
    SLICED_VALUES,
    SliceTable,
)
from scurry.runtime.windowing.vectorised.column_slices import CodedKeys
from scurry.state.codecs.schemas import TABLE as SCHEMAS
from scurry.state.codecs.schemas import Renumbering
from scurry.state.journal import Head, Journal, MemoryJournal, grouped, pack
from scurry.state.rescaling import (
    Deal,
    Gathered,
    Place,
    Rule,
    Splitter,
    by_key_group,
    settle,
    take_in,
)
from scurry.state.runs.key_rows import Order
from scurry.state.slot_records import large_groups
from scurry.state.tables.broadcast_table import BROADCAST_STATES, BroadcastTable

_KEYED = by_key_group()
#: The rules of the tables that operators keep for themselves, None for those that are seen as a
#: whole. Their names begin with "#"; all others are states of keys, which functions asked for.
RULES: dict[str, Rule | None] = {
    BROADCAST_STATES: BroadcastTable.redistribute,
    OPERATOR_STATES: None,
    timer_table(EVENT): TimerQueue.redistribute,
    timer_table(PROCESSING): TimerQueue.redistribute,
    ELEMENTS: _KEYED,
    VALUES: _KEYED,
    PANES: _KEYED,
    CUTS: _KEYED,
    MERGING_WINDOWS: _KEYED,
    SLICED_ELEMENTS: SliceTable.redistribute,
    SLICED_VALUES: SliceTable.redistribute,
    SLICED_RUNS: SliceTable.redistribute,
    SLICED_COLUMNS: CodedKeys.redistribute,
    SESSION_VALUES: _KEYED,
    SESSION_SPANS: _KEYED,
    SESSION_ELEMENTS: _KEYED,
    SESSION_COLUMNS: CodedKeys.redistribute,
    LEFT: _KEYED,
    RIGHT: _KEYED,
}
#: How the names of states of keys, or of windows of keys, begin that are not those of functions.
SPACES = (OF_ASSIGNER, OF_TRIGGER, OF_WINDOW)
#: The rules of the tables of operators on relations, by how the names of the tables begin.
OF_RELATIONS: dict[str, Rule] = {
    VALUES_OF_KEYS: _KEYED,
    ROWS_OF_KEYS: _KEYED,
    TABLES_OF_ROWS: RowTable.redistribute,
}
#: Deals out the journals of all stages, given how the slots' records have to be renumbered; returns
#: what was gathered from each slot.
Split = Callable[[Mapping[Place, Renumbering]], dict[Place, Gathered]]


def deal_for(job: JobSpec, groups: int) -> Deal:
    """Where everything goes in ``job``; ``groups`` is the number of key groups there was before."""
    slots, depth = job.parallelism, len(job.stages)
    regroups = groups != job.max_parallelism
    return Deal(slots, job.max_parallelism, job.degrees, rule_of, job.hosted, depth, regroups)


def rule_of(table: str) -> Rule | None:
    """Where the records of ``table`` go, None if they have to be seen as a whole."""
    if table == SCHEMAS:
        return None
    uid, name = table.split("\x1f")[:2]
    if name in RULES:
        return RULES[name]
    for beginning, rule in OF_RELATIONS.items():
        if name.startswith(beginning):
            return rule
    if name.startswith(OWN) and not name.startswith(SPACES):
        raise StateError(
            f"The table {name!r} of operator {uid!r} does not say how it is dealt out to another "
            "number of slots. It was written by a newer version of Scurry, or its rule is missing "
            "from scurry.runtime.rescaling. Use that version, or the parallelism that the job had."
        )
    return _KEYED


class SlotStart(NamedTuple):
    """What a new slot begins with, beside its share of the journals."""

    #: the number of its journal's first entry
    base: int
    notes: bytes
    #: the last entry of its journal
    entry: bytes
    #: tables that are large, see :class:`scurry.state.journal.Head`
    bulky: tuple[str, ...] = ()
    ranged: tuple[str, ...] = ()


def redeal(
    heads: Mapping[Place, Head], split: Split, deal: Deal, before: Mapping[str, int]
) -> dict[Place, SlotStart]:
    """Have the journals of all stages dealt out; ``heads`` are theirs by slot, ``before`` is the
    parallelism that operators had."""
    settled = settle(split({}), deal)
    if settled.renumbering:
        split(settled.renumbering)
    # what was written before has to be older than what is written next, see SlotStore.epoch
    base = max((head.next + head.number for head in heads.values()), default=0)
    notes = _notes({origin: head.notes for origin, head in heads.items()}, deal, before)
    large = _large(heads.values(), Order.KEY), _large(heads.values(), Order.PREFIX)
    made = {}
    for place in deal.places:
        entry = pack(list(grouped(settled.entries[place])))
        mine = (tuple(t for t in tables if deal.stage_of(t) == place.stage) for tables in large)
        made[place] = SlotStart(base, notes[place], entry, *mine)
    return made


def _large(heads: Iterable[Head], by: Order) -> list[str]:
    """The tables that lie in runs of that order in some slot."""
    return sorted({table for head in heads for table, info in head.runs.items() if info.by is by})


def redeal_in_memory(
    journals: Mapping[Place, Journal], deal: Deal, before: Mapping[str, int]
) -> dict[Place, MemoryJournal]:
    """The journals of a job's new slots, made of those of its slots before."""
    heads = {place: head for place, journal in journals.items() if (head := journal.head())}
    if not heads:
        return {}
    shares: dict[Place, list[bytes]] = {}

    def split(renumbering: Mapping[Place, Renumbering]) -> dict[Place, Gathered]:
        shares.clear()
        gathered = {}
        for place, head in heads.items():
            numbers = renumbering.get(place)
            splitter = Splitter(place, deal, append, numbers, head.counts)
            for seq in range(head.first, head.next):
                splitter.take(seq, journals[place].read(seq))
            for group in large_groups(head, journals[place].runs):
                splitter.take_group(group)
            splitter.finish()
            gathered[place] = splitter.gathered
        return gathered

    def append(place: Place, blob: bytes) -> None:
        shares.setdefault(place, []).append(blob)

    made = {}
    for place, start in redeal(heads, split, deal, before).items():
        made[place] = MemoryJournal()
        made_of = [*shares.get(place, []), start.entry]
        take_in(made[place], made_of, start.base, start.notes, start.bulky, start.ranged)
    return made


def _notes(
    notes: Mapping[Place, bytes], deal: Deal, before: Mapping[str, int]
) -> dict[Place, bytes]:
    held = [decode_report(data) for _, data in sorted(notes.items())]
    gates: dict[str, list[Any]] = {}
    for uid in sorted({uid for kept in held for uid in kept["gates"]}):
        snapshots = [kept["gates"][uid] for kept in held if uid in kept["gates"]]
        gates[uid] = InputGate.redistribute(snapshots, _renamed(deal, before))
    by_stage: dict[int, list[dict[str, Any]]] = {}
    for kept in held:
        by_stage.setdefault(kept["stage"], []).append(kept["cells"])
    cells: dict[str, Any] = {}
    for slots in by_stage.values():
        cells.update(_cells(slots, before))
    return {place: _note(place, gates, cells, deal) for place in deal.places}


def _note(
    place: Place, gates: Mapping[str, list[Any]], cells: Mapping[str, Any], deal: Deal
) -> bytes:
    """What one slot finds of the operators that run in its stage."""

    def here(uid: str) -> bool:
        return deal.stages.get(uid) == place.stage

    mine = {
        uid: kept
        for uid, kept in gates.items()
        if here(uid) and place.slot < deal.degrees.get(uid, place.slot + 1)
    }
    own = {name: value for name, value in cells.items() if here(name.rpartition("|")[0])}
    return encode_report({"gates": mine, "cells": own, "stage": place.stage})


def _renamed(deal: Deal, before: Mapping[str, int]) -> Callable[[str], list[str]]:
    """What becomes of a channel: the slots of its sender are other ones now. Channels that are
    source partitions stay."""

    def renamed(channel: str) -> list[str]:
        sender = sender_of(channel)
        slot, slots = slot_of(channel), deal.degrees.get(sender)
        if slot is None or slots is None or slot >= before.get(sender, 0):
            return [channel]
        way = channel.rpartition("@")[0]
        return [f"{way}@{number}" for number in range(slots)]

    return renamed


def _cells(slots: list[dict[str, Any]], before: Mapping[str, int]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for uid in sorted({name.rpartition("|")[0] for cells in slots for name in cells}):
        instances = slots[: before.get(uid, len(slots))]
        mine = [
            {name: value for name, value in cells.items() if name.rpartition("|")[0] == uid}
            for cells in instances
        ]
        made.update(redistribute_cells(mine))
    return made
