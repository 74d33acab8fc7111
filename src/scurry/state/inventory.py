"""What a checkpoint holds, by operator: the list that is compared with a program when it starts.

State lies in the slots, where only workers see it. So a slot tells the driver the name of each
table when it first writes to it. The driver keeps the names in every epoch, together with the kind
and place of the operator. When a job starts, the driver therefore knows which operators have state
without reading any.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from scurry.state.layout import StateLayout
from scurry.state.table_forms import TableForm

OPERATOR_STATE, BROADCAST_STATE = "operator state", "broadcast state"
#: Words for the tables that operators keep for themselves, by how their names begin.
_OWN_TABLES = {
    "#event-timers": "timers of event time",
    "#processing-timers": "timers of processing time",
    "#operator": OPERATOR_STATE,
    "#left": "elements that wait for their counterparts",
    "#right": "elements that wait for their counterparts",
    "#trigger:": "state of the trigger",
    "#assigner:": "state of the window assigner",
}
#: What the contents of windows are called.
WINDOWS = "windows"
_BROADCAST = "#broadcast\x1f"
#: What stands in place of the beginnings of names of tables of operators on relations.
_OF_RELATIONS = {"#columns": "values", "#rows": "rows", "#runs": "rows"}


class StateType(msgspec.Struct, frozen=True):
    """What a state holds, as its descriptor says."""

    #: see :mod:`scurry.state.codecs.schema`
    schema: Any
    #: how many schemas before this one records may still be written under
    version: int = 0


class OperatorRecord(msgspec.Struct):
    """One operator with state, as it was when the checkpoint was written."""

    #: how its state is laid out; checkpoints of earlier versions have a word, such as "window"
    layout: StateLayout | str
    name: str
    #: the user's file and line
    location: str = ""
    #: of an automatic uid: what it is made of, the same for all twins; empty for one of the user's
    family: str = ""
    #: what tells twins apart
    fingerprint: str = ""
    #: its states, with what kind of state each is
    states: dict[str, str] = {}
    #: the stages in whose slots the states lie; 0 is the ingress, whose states the driver keeps
    stages: list[int] = []
    #: records and bytes of each state, in all slots together, as far as they are known
    sizes: dict[str, tuple[int, int]] = {}
    #: what its states hold, as far as that is known
    types: dict[str, StateType] = {}
    #: how those of its states can be read that are tables of an operator on relations
    forms: dict[str, TableForm] = {}

    def add(self, stage: int, states: Mapping[str, str]) -> None:
        """Note that states of this operator have been written to, in slots of ``stage``."""
        self.states.update(states)
        if stage not in self.stages:
            self.stages = sorted([*self.stages, stage])

    def forget(self, stages: set[int]) -> None:
        """Note that the states in ``stages`` were dropped."""
        self.stages = [stage for stage in self.stages if stage not in stages]
        if not self.stages:
            self.states, self.sizes, self.types, self.forms = {}, {}, {}, {}


#: By uid.
Inventory = dict[str, OperatorRecord]


def uid_of_table(table: str) -> str:
    """The operator that a table of a slot belongs to."""
    return table.partition("\x1f")[0]


def described(table: str, kind: str) -> dict[str, str]:
    """The state behind the table ``table`` of an operator, in words: name and kind."""
    if table.startswith(_BROADCAST):
        return {table.removeprefix(_BROADCAST): BROADCAST_STATE}
    for beginning, words in _OF_RELATIONS.items():
        if table.startswith(beginning):
            return {f"{words} {table.removeprefix(beginning).strip()}".strip(): ""}
    for beginning, words in _OWN_TABLES.items():
        if table.startswith(beginning):
            return {words: ""}
    return {WINDOWS: ""} if table.startswith("#") else {table: kind or "state"}


def in_words(record: OperatorRecord) -> str:
    """The states of an operator as a list for people."""
    named = [f"{kind} {name!r}" for name, kind in record.states.items() if kind]
    return ", ".join([*named, *(name for name, kind in record.states.items() if not kind)])
