"""What becomes of stored state when a changed program goes on with it, told before the job runs.

The same is decided when a job starts (:mod:`scurry.checkpoint.claims`), where it is a refusal or
nothing. Here it is a list of everything a checkpoint or savepoint holds, and of what the program
adds to it.

A function says which states it has when it is opened on a worker. So a state of a function that is
still there counts as kept: whether the function still asks for it, nobody knows before it runs. If
the function does not, the state stays in the checkpoint, and nobody reads it.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

import msgspec

from scurry.checkpoint.carry_over import changed_parameters, why_not
from scurry.checkpoint.claims import elsewhere, out_of_reach
from scurry.checkpoint.stored import CheckpointContents, StoredOperator
from scurry.runtime.specs import JobSpec
from scurry.state.layout import StateLayout


class Outcome(Enum):
    """What becomes of a state."""

    KEPT = "kept"
    MIGRATED = "migrated"
    NEW = "new"
    DROPPED = "dropped"


class StateChange(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of one state, or of the position of a source."""

    uid: str
    operator: str
    #: its name, empty for an operator of which no state is known yet
    state: str
    outcome: Outcome
    #: how it is migrated, or why it would be dropped
    how: str = ""


def compare(job: JobSpec, contents: CheckpointContents) -> list[StateChange]:
    """What becomes of all that ``contents`` lists if ``job`` goes on with it."""
    found = [*_sources(job, contents), *_operators(job, contents)]
    known = {each.uid for each in found} | {sink.uid for sink in contents.sinks}
    for uid, record in job.inventory.items():
        if uid not in known:
            found.append(StateChange(uid=uid, operator=record.name, state="", outcome=Outcome.NEW))
    return found


def rescaling(job: JobSpec, contents: CheckpointContents) -> list[str]:
    """What has to be dealt out anew, in words; empty if nothing has."""
    told = []
    if job.parallelism != contents.parallelism:
        told.append(f"parallelism {contents.parallelism} -> {job.parallelism}")
    if job.max_parallelism != contents.max_parallelism:
        told.append(f"key groups {contents.max_parallelism} -> {job.max_parallelism}")
    if len(job.stages) != contents.stages:
        told.append(f"stages {contents.stages} -> {len(job.stages)}")
    return told


def _sources(job: JobSpec, contents: CheckpointContents) -> Iterator[StateChange]:
    uids = {source.uid for source in job.sources}
    for source in contents.sources:
        gone = source.uid not in uids
        yield StateChange(
            uid=source.uid,
            operator=source.name,
            state="position",
            outcome=Outcome.DROPPED if gone else Outcome.KEPT,
            how="no source of the program has this uid" if gone else "",
        )


def _operators(job: JobSpec, contents: CheckpointContents) -> Iterator[StateChange]:
    for stored in contents.operators:
        outcome, how = _outcome(job, stored)
        for state in stored.states:
            yield StateChange(
                uid=stored.uid,
                operator=stored.name,
                state=state.name,
                outcome=outcome,
                how=how,
            )


def _outcome(job: JobSpec, stored: StoredOperator) -> tuple[Outcome, str]:
    claimed = job.inventory.get(stored.uid)
    if claimed is None:
        return Outcome.DROPPED, "no operator of the program has this uid"
    assert isinstance(claimed.layout, StateLayout)
    if changed := why_not(stored.layout, claimed.layout):
        return Outcome.DROPPED, f"the operator cannot read it: {changed}"
    now = job.runs_in(stored.uid)
    if beyond := frozenset(stage for stage in stored.stages if out_of_reach(stage, now)):
        return Outcome.DROPPED, elsewhere(beyond, frozenset({now}))
    how = [*changed_parameters(stored.layout, claimed.layout)]
    if any(stage != now for stage in stored.stages):
        how.append(f"moves to stage {now}")
    return (Outcome.MIGRATED, ", ".join(how)) if how else (Outcome.KEPT, "")
