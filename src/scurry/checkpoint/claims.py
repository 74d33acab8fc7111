"""Comparing what a checkpoint holds with the program that is to go on with it, before the job runs.

State belongs to an operator's uid. If no operator of the program has the uid of some stored state,
that state would be lost without a word. So the job is refused, as in Flink, unless the user allows
it. The same holds for the position of a source, and for state that the operator of that uid could
not read: because it lies in another stage, or because the operator lays its state out in another
way (:mod:`scurry.checkpoint.carry_over`).

If the user allows it, the first micro-batch drops such state for good, in all slots and on the
driver at once (:class:`scurry.runtime.specs.Forgetting`). Until that micro-batch is committed
nothing has changed, and the earlier program may still go on with the checkpoint.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from scurry.checkpoint.carry_over import why_not
from scurry.checkpoint.epochs import Epoch
from scurry.checkpoint.twins import refuse_mixed_up
from scurry.common.errors import StateError
from scurry.common.options.checkpoints import IGNORE_UNCLAIMED_STATE
from scurry.runtime.sinks import SinkOperator
from scurry.runtime.specs import Forgetting, JobSpec
from scurry.state.inventory import OperatorRecord, in_words
from scurry.state.layout import StateLayout

_log = logging.getLogger("scurry.checkpoint")

_SINK = SinkOperator.state_kind
_NOBODYS = "no operator of the program takes it over"
_LEAVE = (
    "start with `scurry run --allow-dropped UID`, or with `--allow-non-restored-state` for all, or "
    f"set {IGNORE_UNCLAIMED_STATE.key} to true"
)
#: The longest position that is shown whole.
_LONG = 120


@dataclass(frozen=True)
class Standing:
    """Where a checkpoint stands."""

    #: in words, such as "/checkpoints/orders"
    place: str
    epoch: Epoch
    #: the number of the first micro-batch that is run from here
    batch: int
    #: whether that micro-batch was under way before, so that sinks may have written it
    pending: bool = False


@dataclass(frozen=True)
class Unclaimed:
    """State that the program leaves behind."""

    uid: str
    record: OperatorRecord
    #: what there is of it, in words
    what: str
    stages: frozenset[int]
    #: why the program cannot take it over, although it has the uid
    reason: str = ""
    #: whether that is because the operator has changed
    changed: bool = False

    def __str__(self) -> str:
        place = f", {self.record.location}" if self.record.location else ""
        reason = f"; {self.reason}" if self.reason else ""
        return f"{self.record.name!r} (uid {self.uid!r}{place}): {self.what}{reason}"


def claim_state(
    job: JobSpec,
    standing: Standing,
    allow_non_restored_state: bool,
    allow_dropped: Collection[str] = (),
) -> JobSpec:
    """``job``, with what it has to drop; raises :class:`StateError` if it must not drop that. It
    may drop everything, or the state of the operators whose uids are in ``allow_dropped``."""
    held = dict(_held(standing))
    refuse_mixed_up(job.inventory, standing.epoch.inventory, held, standing.place)
    left = list(_left_behind(job, held))
    if not left:
        return job
    refused = [] if allow_non_restored_state else [o for o in left if o.uid not in allow_dropped]
    if refused:
        raise StateError(_refusal(job, standing, refused))
    by_stage: dict[int, set[str]] = {}
    for one in left:
        why = "no operator of the program can read it" if one.changed else _NOBODYS
        _log.warning("dropped, because %s: %s", why, one)
        # if the journals are dealt out anew, it will lie where the operator runs now
        for stage in one.stages | ({job.runs_in(one.uid)} if one.changed else set()):
            by_stage.setdefault(stage, set()).add(one.uid)
    gone = {stage: frozenset(uids) for stage, uids in by_stage.items()}
    return replace(job, forgetting=Forgetting(standing.batch, gone))


def _held(standing: Standing) -> Iterator[tuple[str, Unclaimed]]:
    """All that the checkpoint holds, with the uid that each part belongs to. Whether an operator of
    the program claims it is not asked here."""
    epoch = standing.epoch
    for uid, record in _recorded(epoch).items():
        stages, what = frozenset(record.stages), in_words(record)
        if uid in epoch.positions:
            stages, what = frozenset({0}), f"its position {_shown(epoch.positions[uid])}"
        elif _kind(record) == _SINK and standing.pending:
            what = f"micro-batch {standing.batch}, which may have been written, and is run again"
        if what:
            yield uid, Unclaimed(uid, record, what, stages)


def _left_behind(job: JobSpec, held: Mapping[str, Unclaimed]) -> Iterator[Unclaimed]:
    for uid, one in held.items():
        claimed, runs_in = job.inventory.get(uid), frozenset({job.runs_in(uid)})
        if claimed is None:
            yield one
        elif changed := _why_not(one.record, claimed):
            yield replace(one, record=claimed, reason=changed, changed=True)
        elif beyond := frozenset(s for s in one.stages if out_of_reach(s, *runs_in)):
            yield replace(one, stages=beyond, reason=elsewhere(beyond, runs_in))


def out_of_reach(held: int, now: int) -> bool:
    """Whether an operator that runs in stage ``now`` cannot be given what lies in stage ``held``.
    Journals are dealt out to any stage. What functions of the ingress keep, the driver has."""
    return held != now and 0 in (held, now)


def moved(job: JobSpec, epoch: Epoch) -> bool:
    """Whether an operator of ``job`` has state in another stage than the one it runs in now, so
    that the journals have to be dealt out anew."""
    hosted = job.hosted
    return any(
        stage and stage != hosted[uid]
        for uid, record in epoch.inventory.items()
        if uid in hosted
        for stage in record.stages
    )


def _recorded(epoch: Epoch) -> Mapping[str, OperatorRecord]:
    """What the epoch knows of operators; checkpoints of earlier versions have positions only."""
    known = dict.fromkeys([*epoch.positions, *epoch.operators.states])
    unnamed = {uid: OperatorRecord("", uid, stages=[0]) for uid in known}
    for uid, states in epoch.operators.states.items():
        names = {name for held in states.values() for name in held}
        unnamed[uid].states = dict.fromkeys(sorted(names), "operator state")
    return {**unnamed, **epoch.inventory}


def _kind(record: OperatorRecord) -> str:
    return record.layout if isinstance(record.layout, str) else record.layout.kind


def _why_not(record: OperatorRecord, claimed: OperatorRecord) -> str:
    """What keeps the operator from reading state that has its uid."""
    assert isinstance(claimed.layout, StateLayout)
    return why_not(record.layout, claimed.layout)


def elsewhere(held: frozenset[int], now: frozenset[int]) -> str:
    """Where state lies, and where its operator runs, in words."""
    return f"it lies in {_stages(held)}, and the operator now runs in {_stages(now)}"


def _stages(numbers: frozenset[int]) -> str:
    return " and ".join("the ingress" if n == 0 else f"stage {n}" for n in sorted(numbers))


def _shown(position: object) -> str:
    text = json.dumps(position)
    return text if len(text) <= _LONG else f"{text[:_LONG]}..."


def _refusal(job: JobSpec, standing: Standing, left: list[Unclaimed]) -> str:
    changed = [one for one in left if one.changed]
    gone = [one for one in left if not one.changed]
    parts = [*(_of_nobody(job, standing, gone) if gone else []), *_of_changed(standing, changed)]
    return "\n".join(parts)


def _of_nobody(job: JobSpec, standing: Standing, left: list[Unclaimed]) -> Iterator[str]:
    newcomers = [
        f"  - {record.name!r} (uid {uid!r}, {record.location})"
        for uid, record in job.inventory.items()
        if uid not in standing.epoch.inventory and uid not in standing.epoch.positions
    ]
    example = next((one.uid for one in left if not one.reason), left[0].uid)
    place = standing.place
    yield f"The checkpoint in {place} holds state that no operator of this program takes over:"
    yield from (f"  - {one}" for one in left)
    if newcomers:
        yield "New in this program, and perhaps the same under another uid:"
        yield from newcomers
    yield (
        "State belongs to the uid of its operator. Give the operator that it belongs to its "
        f"uid again, for instance .uid({example!r}). Or drop this state for good: {_LEAVE}."
    )


def _of_changed(standing: Standing, changed: list[Unclaimed]) -> Iterator[str]:
    if not changed:
        return
    yield (
        f"The checkpoint in {standing.place} holds state that operators of this program cannot "
        "read, because they have changed:"
    )
    yield from (f"  - {one}" for one in changed)
    yield (
        "Put back what has changed. Or begin with the changed operator anew: give it a uid of its "
        f"own and drop the state of the old one for good: {_LEAVE}."
    )
