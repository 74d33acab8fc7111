"""Starting the sinks of a job, which may have committed batches that the checkpoint does not know.

All sinks are asked before anything is changed: if one of them has to refuse, the others have not
been truncated for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from scurry.common.errors import OtherHistoryError
from scurry.compile.job import CompiledJob
from scurry.functions.history import APPEND, TRUNCATE, History, Mark
from scurry.functions.sink import CommitterContext, Sink
from scurry.plan.nodes import Sink as SinkNode


@dataclass(frozen=True)
class JobSink:
    """A sink in its place in the program."""

    uid: str
    name: str
    location: str
    sink: Sink
    #: what to do about another history
    choice: str


def sinks_of(job: CompiledJob) -> list[JobSink]:
    """All sinks of a job."""
    return [
        JobSink(
            job.uids[node],
            node.name,
            node.location,
            node.sink,
            node.on_other_history or job.on_other_history,
        )
        for node in job.graph.nodes
        if isinstance(node, SinkNode)
    ]


def start_sinks(
    sinks: Iterable[JobSink], checkpoint_id: str, history: History, checkpoint: str
) -> None:
    """Start all sinks and deal with what they hold of other histories; ``checkpoint`` names the
    checkpoint in messages."""
    sinks = list(sinks)
    strange: list[tuple[JobSink, Mark]] = []
    for each in sinks:
        each.sink.start(CommitterContext(each.uid, checkpoint_id, history))
        mark = each.sink.committed_mark()
        if mark is not None and not history.holds(mark):
            strange.append((each, mark))
    for each, mark in strange:
        _check_choice(each, mark, history, checkpoint)
    for each, mark in strange:
        if each.choice == TRUNCATE:
            each.sink.truncate()
        else:
            each.sink.accept(history.common(mark))
    for each in sinks:
        each.sink.recover(history.last + 1)


def _check_choice(each: JobSink, mark: Mark, history: History, checkpoint: str) -> None:
    cannot = each.sink.why_not_truncate()
    if each.choice == APPEND or (each.choice == TRUNCATE and not cannot):
        return
    if each.choice == TRUNCATE:
        chosen = f"\n'truncate' was chosen, but cannot be done: {cannot}"
    else:
        chosen = "\nNothing was changed. The option scurry.sink.on-other-history, or "
        chosen += "on_other_history(...) at the sink, says what to do:"
        if not cannot:
            chosen += "\n  'truncate' takes back what the sink has committed beyond the checkpoint;"
    raise OtherHistoryError(
        f"The sink {each.name!r} (uid {each.uid!r}, {each.location}) has committed micro-batches "
        f"that the checkpoint does not know. The last one is number {mark.batch}{_at(mark)}; "
        f"{checkpoint} stands at {_number(history.last)}, so it is an older copy, or somebody else "
        f"has gone on from a copy of it.{chosen}"
        "\n  'append' leaves that where it is and writes on, so records may be there twice."
        + (f"\n  'truncate' cannot be done: {cannot}" if cannot and each.choice != TRUNCATE else "")
        + "\nOr start from the newer checkpoint."
    )


def _at(mark: Mark) -> str:
    if mark.when is None:
        return ""
    return f", committed at {datetime.fromtimestamp(mark.when / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _number(last: int) -> str:
    return f"number {last}" if last >= 0 else "its beginning, before any micro-batch"
