"""What becomes of stored state when a changed program goes on with it, told before the job runs.

The same is decided when a job starts (:mod:`scurry.checkpoint.claims`), where it is a refusal or
nothing. Here it is a list of everything a checkpoint or savepoint holds, and of what the program
adds to it.

A function says which states it has when it is opened. Where that is known
(:mod:`scurry.engine.declared_states`), the types that the checkpoint has of its states are compared
with those that the function asks for. A state that it does not ask for stays in the checkpoint, and
nobody reads it; it may be one that the function asks for later, while it runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

import msgspec

from scurry.checkpoint.carry_over import changed_parameters, why_not
from scurry.checkpoint.claims import elsewhere, out_of_reach
from scurry.checkpoint.stored import CheckpointContents, StoredOperator, StoredState
from scurry.runtime.specs import JobSpec
from scurry.state.codecs.schema import misfit, name_of
from scurry.state.codecs.schemas import seen_in
from scurry.state.layout import StateLayout


class Outcome(Enum):
    """What becomes of a state."""

    KEPT = "kept"
    MIGRATED = "migrated"
    NEW = "new"
    DROPPED = "dropped"
    #: the job will fail when it opens the function
    REFUSED = "refused"


class DeclaredState(msgspec.Struct, frozen=True):
    """A state that a function of the program asks for."""

    kind: str
    #: see :mod:`scurry.state.codecs.schema`
    schema: Any
    #: whether the program has a function that converts values of other types
    converts: bool = False


class StateChange(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of one state, or of the position of a source."""

    uid: str
    operator: str
    #: its name, empty for an operator of which no state is known yet
    state: str
    outcome: Outcome
    #: how it is migrated, or why it would be dropped
    how: str = ""


#: By uid, and by the name of the state.
Declared = Mapping[str, Mapping[str, DeclaredState]]


def compare(
    job: JobSpec, contents: CheckpointContents, declared: Declared | None = None
) -> list[StateChange]:
    """What becomes of all that ``contents`` lists if ``job`` goes on with it; ``declared`` are the
    states that its functions ask for, as far as they are known."""
    declared = declared or {}
    found = [*_sources(job, contents), *_operators(job, contents, declared)]
    known = {each.uid for each in found} | {sink.uid for sink in contents.sinks}
    held = {(each.uid, each.state) for each in found}
    for uid, states in declared.items():
        name = job.inventory[uid].name if uid in job.inventory else uid
        for state in sorted(state for state in states if (uid, state) not in held):
            known.add(uid)
            how = f"{states[state].kind} {name_of(states[state].schema)}"
            found.append(
                StateChange(uid=uid, operator=name, state=state, outcome=Outcome.NEW, how=how)
            )
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


def _operators(
    job: JobSpec, contents: CheckpointContents, declared: Declared
) -> Iterator[StateChange]:
    for stored in contents.operators:
        whole = _outcome(job, stored)
        for state in stored.states:
            outcome, how = whole
            if outcome is not Outcome.DROPPED and stored.uid in declared:
                outcome, how = _of_state(state, declared[stored.uid], outcome, how)
            yield StateChange(
                uid=stored.uid,
                operator=stored.name,
                state=state.name,
                outcome=outcome,
                how=how,
            )


def _of_state(
    stored: StoredState, declared: Mapping[str, DeclaredState], outcome: Outcome, how: str
) -> tuple[Outcome, str]:
    """The same of a state of a function, of which the operator can be read."""
    now = declared.get(stored.name)
    if stored.schema is None:
        # it is the operator's own, or of a checkpoint that does not tell
        return outcome, how
    if now is None:
        return outcome, "; ".join(filter(None, [how, "the function does not ask for it"]))
    changed = f"{stored.type} -> {name_of(now.schema)}"
    if stored.kind and stored.kind != now.kind:
        return Outcome.REFUSED, f"{stored.kind} became {now.kind}"
    if stored.schema == now.schema or seen_in(now.schema) is not None:
        return outcome, how
    if (reason := misfit(stored.schema, now.schema)) is None:
        return Outcome.MIGRATED, "; ".join(filter(None, [how, changed]))
    if now.converts:
        return Outcome.MIGRATED, "; ".join(filter(None, [how, f"{changed}, by the program"]))
    return Outcome.REFUSED, reason


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
