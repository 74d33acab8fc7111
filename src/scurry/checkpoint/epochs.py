"""Epochs: where a job stands after a micro-batch.

An :class:`Epoch` has the position of each source, the cells that watermark strategies keep for each
source partition, the operator states of the ingress, and an inventory of the operators that have
state. The driver writes it before the micro-batch is committed, under the number of the
micro-batch. After a crash, the epoch of the last committed micro-batch therefore says exactly where
to go on.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from typing import Any

import msgspec

from scurry.checkpoint.file_journal import StoredHead
from scurry.common.errors import StateError
from scurry.functions.history import Branch
from scurry.runtime.report import OperatorReport
from scurry.runtime.specs import JobSpec
from scurry.state.inventory import Inventory
from scurry.state.operator_state import Encoded, redistribute


class PartitionState(msgspec.Struct):
    """What the job remembers of one source partition."""

    source: str
    partition: str
    cells: dict[str, Any] = {}
    ended: bool = False


class OperatorStates(msgspec.Struct):
    """The operator states of functions in the ingress, and the union lists of all functions.

    A place is the number of a stage, 0 for the ingress, and of a task there: ``"0:3"``.
    """

    #: by operator and place
    states: dict[str, dict[str, Encoded]] = {}
    unions: dict[str, dict[str, Encoded]] = {}
    #: by place: the version of its states
    tokens: dict[str, str] = {}

    def take(self, report: OperatorReport) -> None:
        """Take over what a task's states have become, as it reports them after a micro-batch."""
        place = "{}:{}".format(*report.place)
        if report.token:
            self.tokens[place] = report.token
        for held, told in ((self.states, report.states), (self.unions, report.unions)):
            for uid, states in told.items():
                held.setdefault(uid, {})[place] = states

    def of_task(self, task: int) -> dict[str, Encoded]:
        """The states of one task of the ingress, by operator."""
        place = f"0:{task}"
        return {uid: held[place] for uid, held in self.states.items() if place in held}

    def all_unions(self) -> dict[str, list[Encoded]]:
        """The union lists of all instances, by operator."""
        return {uid: [held[p] for p in sorted(held)] for uid, held in self.unions.items()}

    def fit(self, tasks: int) -> None:
        """Deal out the states anew if there were more tasks in the ingress than ``tasks``."""
        for uid, held in self.states.items():
            numbers = sorted(int(place.split(":")[1]) for place in held)
            if numbers and numbers[-1] >= tasks:
                dealt = redistribute([held[f"0:{number}"] for number in numbers], tasks)
                self.states[uid] = {f"0:{at}": states for at, states in enumerate(dealt)}
                self.tokens = {f"0:{at}": f"dealt {at}" for at in range(tasks)}

    def forget(self, by_stage: Mapping[int, Collection[str]]) -> None:
        """Drop the states that operators have in some stages."""
        for stage, uids in by_stage.items():
            for uid in uids:
                for held in (self.states.get(uid, {}), self.unions.get(uid, {})):
                    for place in [place for place in held if int(place.split(":")[0]) == stage]:
                        del held[place]

    def keep(self, uids: Container[str]) -> None:
        """Drop the states of all operators but these."""
        self.states = {uid: held for uid, held in self.states.items() if uid in uids}
        self.unions = {uid: held for uid, held in self.unions.items() if uid in uids}

    def move(self, stages: Mapping[str, int]) -> None:
        """Operators run in other stages: what is known of union lists in stages goes along."""
        for uid, held in self.unions.items():
            if uid in stages:
                self.unions[uid] = {
                    place if place.startswith("0:") else f"{stages[uid]}:0": lists
                    for place, lists in held.items()
                }

    def unite(self) -> None:
        """Put the union lists of all tasks of a stage together, as those of its first task. Called
        when the number of tasks changes, which leaves a first task in any case. In the next
        micro-batch every task is given the whole list, as always, and reports its own part."""
        for uid, held in self.unions.items():
            by_stage: dict[str, list[Encoded]] = {}
            for place in sorted(held, key=lambda place: int(place.split(":")[1])):
                by_stage.setdefault(place.split(":")[0], []).append(held[place])
            self.unions[uid] = {
                f"{stage}:0": redistribute(states, 1)[0] for stage, states in by_stage.items()
            }


#: The version of the form in which epochs are stored. Epochs of version 1 have no history.
EPOCH_VERSION = 2


class Epoch(msgspec.Struct):
    """Where a job stands after a micro-batch."""

    batch: int
    positions: dict[str, Any]
    partitions: list[PartitionState]
    finished: list[str] = []
    #: processing time of the last planned batch
    now: int = 0
    #: when a batch is due even if there is nothing to read, for timers and idle sources
    wake: int | None = None
    version: int = EPOCH_VERSION
    operators: OperatorStates = msgspec.field(default_factory=OperatorStates)
    #: the parallelism that each source was first read with: what its positions mean depends on it
    splits: dict[str, int] = {}
    #: whose state there is, and which
    inventory: Inventory = {}
    #: which batches came before, and this one: see :mod:`scurry.functions.history`
    history: list[Branch] = []
    #: the journals of all slots, where these are files of the checkpoint; see
    #: :mod:`scurry.checkpoint.file_journal`
    journals: dict[str, StoredHead] = {}


def decode_epoch(content: bytes) -> Epoch:
    """The epoch behind the JSON that was stored, by this version or an earlier one."""
    epoch = msgspec.json.decode(content, type=Epoch)
    if epoch.version > EPOCH_VERSION:
        raise StateError(
            f"The checkpoint was written by a newer version of Scurry: its epochs have version "
            f"{epoch.version}, this one reads versions up to {EPOCH_VERSION}. Use that version."
        )
    epoch.version = EPOCH_VERSION
    return epoch


def rescaled(epoch: Epoch, job: JobSpec) -> Epoch:
    """``epoch`` for a job of another parallelism, or with other stages."""
    made = decode_epoch(msgspec.json.encode(epoch))
    made.journals = {}
    hosted = job.hosted
    made.operators.unite()
    made.operators.move(hosted)
    made.operators.fit(job.ingress_tasks)
    for uid, record in made.inventory.items():
        if uid in hosted:
            record.stages = sorted({stage and hosted[uid] for stage in record.stages})
    return made


def after_forgetting(epoch: Epoch, job: JobSpec) -> Epoch:
    """``epoch`` without what ``job`` drops in its first micro-batch."""
    made: Epoch = msgspec.json.decode(msgspec.json.encode(epoch), type=Epoch)
    by_stage = job.forgetting.by_stage
    sources = by_stage.get(0, frozenset())
    made.positions = {uid: at for uid, at in made.positions.items() if uid not in sources}
    made.splits = {uid: count for uid, count in made.splits.items() if uid not in sources}
    made.partitions = [state for state in made.partitions if state.source not in sources]
    made.finished = [uid for uid in made.finished if uid not in sources]
    made.operators.forget(by_stage)
    for uid, record in made.inventory.items():
        record.forget({stage for stage, uids in by_stage.items() if uid in uids})
    return made
