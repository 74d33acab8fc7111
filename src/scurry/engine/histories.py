"""Starting the sinks of a job, which may have committed batches that the checkpoint does not know.

All sinks are asked before anything is changed: if one of them has to refuse, the others have not
been truncated for nothing.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from scurry.checkpoint.ledger import Pledge
from scurry.common.errors import LostPromiseError, OtherHistoryError, StateError
from scurry.functions.fencing import Fence
from scurry.functions.history import REFUSE, TRUNCATE, History, Mark
from scurry.functions.sink import CommitterContext, Sink

_log = logging.getLogger("scurry.engine")


@dataclass(frozen=True)
class JobSink:
    """A sink in its place in the program."""

    uid: str
    name: str
    location: str
    sink: Sink
    #: what to do about another history
    choice: str

    def commit(self, batch: int, messages: list[Any]) -> None:
        """Commit a batch; what the sink says about another history gets the sink's place."""
        try:
            self.sink.commit(batch, messages)
        except OtherHistoryError as failure:
            raise OtherHistoryError(f"{failure}\n  in the sink {self}") from None

    def commit_what_is_left(self, batch: int, messages: list[Any]) -> None:
        """Commit a batch that nobody will run again: if the target has lost something of it, the
        job ends, or goes on without that, as the user chose."""
        try:
            self.commit(batch, messages)
        except LostPromiseError as lost:
            if not self.sink.forgo(batch):
                raise
            _log.error("%s\n  in the sink %s. The job goes on without them.", lost, self)

    def __str__(self) -> str:
        return f"{self.name!r} (uid {self.uid!r}, {self.location})"


def start_sinks(
    sinks: Iterable[JobSink],
    checkpoint_id: str,
    history: History,
    checkpoint: str,
    lease: Fence,
    promised: Mapping[str, list[bytes]],
    pledge: Pledge,
    written_again: bool = True,
) -> None:
    """Start all sinks and deal with what they hold of other histories; ``checkpoint`` names the
    checkpoint in messages. Afterwards no driver with an older lease can commit to them.

    What the last committed micro-batch has ``promised`` is committed now, by sinks that have not
    done it; so is what the ``pledge`` says of the one after it, which has a plan and is run again.
    What a target has lost of a pledge is an error, unless it is ``written_again`` then.
    """
    sinks = list(sinks)
    _check_promises(sinks, promised, checkpoint)
    strange: list[tuple[JobSink, Mark]] = []
    for each in sinks:
        each.sink.start(CommitterContext(each.uid, checkpoint_id, history, lease))
        mark = each.sink.committed_mark()
        if mark is not None and not history.holds(mark):
            strange.append((each, mark))
    for each, mark in strange:
        _check_choice(each, mark, history, checkpoint)
    pledged = dict(pledge.messages)
    for each, mark in strange:
        if each.choice == TRUNCATE:
            each.sink.truncate()
            continue
        common = history.common(mark)
        each.sink.accept(common)
        if common.batch >= pledge.batch:
            # whoever has gone on from there has kept the pledge
            pledged.pop(each.uid, None)
    for each in sinks:
        if each.uid in promised:
            messages = [pickle.loads(message) for message in promised[each.uid]]
            each.commit_what_is_left(history.last, messages)
        if each.uid in pledged:
            _keep(each, pledge.batch, pledged[each.uid], written_again)
        each.sink.recover(history.last + 1)


def _check_promises(
    sinks: Iterable[JobSink], promised: Mapping[str, list[bytes]], checkpoint: str
) -> None:
    missing = promised.keys() - {each.uid for each in sinks}
    if missing:
        raise StateError(
            f"The job ended before the sinks {', '.join(sorted(map(repr, missing)))} had written "
            f"all that {checkpoint} counts as written, and this program has no such sinks. Run the "
            "program that has them once more; it writes the rest, and can be stopped at once."
        )


def _keep(each: JobSink, batch: int, messages: list[Any], written_again: bool) -> None:
    """Commit what was pledged. What the target has lost of it is written again when the
    micro-batch is run again, which is about to happen."""
    if not written_again:
        each.commit_what_is_left(batch, messages)
        return
    try:
        each.commit(batch, messages)
    except LostPromiseError as lost:
        _log.error(
            "%s\n  in the sink %s. They are written again, as the micro-batch is run again; that "
            "is exact if each task writes the same records as before.",
            *(lost, each),
        )


def _check_choice(each: JobSink, mark: Mark, history: History, checkpoint: str) -> None:
    cannot = each.sink.why_not_truncate()
    if each.choice == REFUSE or (each.choice == TRUNCATE and cannot):
        raise OtherHistoryError(
            f"The sink {each} has committed micro-batches that the checkpoint does not know. The "
            f"last one is number {mark.batch}{_at(mark)}; {checkpoint} stands at "
            f"{_number(history.last)}, so it is an older copy, or somebody else has gone on from a "
            f"copy of it. Nothing was changed. {_ways_on(each.choice, cannot)}"
        )


def _ways_on(choice: str, cannot: str) -> str:
    """What the user can do about a refusal."""
    truncate = "takes back what the sink has committed beyond the checkpoint."
    if cannot:
        chosen = "was chosen, but " if choice == TRUNCATE else ""
        truncate = f"{chosen}cannot be done: {cannot}"
    return (
        "The option scurry.sink.on-other-history, or on_other_history(...) at the sink, says what "
        f"to do:\n  'truncate' {truncate}\n  'append' leaves that where it is and writes on, so "
        "records may be there twice.\nOr start from the newer checkpoint."
    )


def _at(mark: Mark) -> str:
    if mark.when is None:
        return ""
    return f", committed at {datetime.fromtimestamp(mark.when / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _number(last: int) -> str:
    return f"number {last}" if last >= 0 else "its beginning, before any micro-batch"
