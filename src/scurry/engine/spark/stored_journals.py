"""Journals, read without the job that wrote them, out of Spark's state stores or out of files.

Each stage of a job is one operator of Spark's query, with two variables in its state: the heads of
its slots' journals and their entries. Both are read as of the last committed micro-batch, with
Spark's own reader of state stores.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import re
import shutil
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from scurry.checkpoint.at_rest import CheckpointAtRest
from scurry.checkpoint.file_journal import FileJournal, StoredHead
from scurry.checkpoint.layout import Home
from scurry.checkpoint.log_files import LogFiles
from scurry.checkpoint.takeover import take_over_spark
from scurry.checkpoint.written_state import ONLY, written_journal
from scurry.common.any_paths import AnyPath, names_in
from scurry.common.errors import ConfigurationError
from scurry.common.options.execution import LIVE
from scurry.common.own_directories import process_directory
from scurry.engine.spark.routes import route_values
from scurry.engine.spark.session import obtain_session, query_session
from scurry.runtime.report import decode_report
from scurry.state.journal import Head, decode_head
from scurry.state.rescaling import Place
from scurry.state.stored_tables import StoredJournal

#: The state variables of a stage, and what is read of them.
VARIABLES = {
    "head": ("key.slot as route", "value.content as content"),
    "log": ("key.slot as route", "user_map_key.seq as seq", "user_map_value.content as content"),
}
#: What a URI has as it is.
_PLAIN = re.compile(r"[\w/.~!$&'()*+,;=:@-]*")


class StoredStage:
    """The journals of a stage, as Spark's state of the operator ``operator`` has them; ``slots``
    gives the slot behind each route."""

    def __init__(
        self, session: SparkSession, checkpoint: str, operator: int, slots: Mapping[int, int]
    ) -> None:
        found = {
            slots[row.route]: decode_head(bytes(row.content))
            for row in state_rows(session, checkpoint, operator, "head").collect()
        }
        self.number: int = decode_report(next(iter(found.values())).notes)["stage"]
        self.heads = {Place(self.number, slot): head for slot, head in found.items()}
        self.log = state_rows(session, checkpoint, operator, "log")


def slots_by_route(parallelism: int) -> dict[int, int]:
    """The slot behind each value that Spark groups by."""
    return {route: slot for slot, route in enumerate(route_values(parallelism))}


def state_rows(session: SparkSession, checkpoint: str, operator: int, variable: str) -> DataFrame:
    """What a state variable of a stage held after the last committed micro-batch, with the columns
    of :data:`VARIABLES`."""
    reader = session.read.format("statestore").option("stateVarName", variable)
    found = reader.option("operatorId", operator).load(_plain_path(session, checkpoint))
    return found.selectExpr(*VARIABLES[variable])


def _plain_path(session: SparkSession, checkpoint: str) -> str:
    """A path to a checkpoint that Spark's reader of state stores can use. That reader quotes a path
    and takes the result for the path, so what quoting would change gets a plain second name."""
    if _PLAIN.fullmatch(checkpoint):
        return checkpoint
    if not (session.sparkContext.master or "").startswith("local["):
        raise ConfigurationError(
            f"State in {checkpoint!r} cannot be read: Spark's reader of state does not find "
            "directories that have spaces or special characters in their paths. Move the "
            "checkpoint to a directory whose path has letters, digits and hyphens only."
        )
    link = _links() / hashlib.blake2b(checkpoint.encode(), digest_size=8).hexdigest()
    with contextlib.suppress(FileExistsError):
        link.symlink_to(checkpoint)
    return str(link)


def is_readable(session: SparkSession, place: AnyPath) -> bool:
    """Whether the executors of ``session`` can read Spark's checkpoint in ``place``, or a copy of
    it on this machine."""
    return isinstance(place, Path) or (session.sparkContext.master or "").startswith("local[")


def readable_checkpoint(place: AnyPath) -> str:
    """A path to Spark's checkpoint in ``place``. What a savepoint in an object store has of it is
    copied to this machine."""
    if isinstance(place, Path):
        return str(place)
    room = process_directory("spark-state")
    atexit.register(shutil.rmtree, room, ignore_errors=True)
    return str(copied_here(place, room))


def copied_here(place: AnyPath, room: Path) -> Path:
    """A copy of Spark's checkpoint in ``place``, in the directory ``room``."""
    copied = room / uuid.uuid4().hex
    commits = (int(name) for name in names_in(place / "commits") if name.isdigit())
    take_over_spark(place, copied, max(commits, default=0))
    return copied


@functools.cache
def _links() -> Path:
    made = process_directory("links")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def stored_journals(
    found: CheckpointAtRest, stages: set[int], session: SparkSession | None = None
) -> dict[Place, StoredJournal]:
    """The journals of the slots of ``stages``, for reading; large entries are read from their files
    when they are asked for."""
    if found.generation.engine == LIVE:
        journals = file_journals(found.files, found.epoch.journals)
        return {place: journal for place, journal in journals.items() if place.stage in stages}
    if found.generation.written:
        return {ONLY: written_journal(found.files)} if ONLY.stage in stages else {}
    parallelism = found.generation.parallelism
    own = query_session(session or obtain_session({}), parallelism)
    slots = slots_by_route(parallelism)
    made: dict[Place, StoredJournal] = {}
    for operator in range(found.stages):
        stage = StoredStage(own, str(found.spark), operator, slots)
        if stage.number in stages:
            made.update(_journals(stage, found, slots))
    return made


def file_journals(home: Home, stored: Mapping[str, StoredHead]) -> dict[Place, StoredJournal]:
    """Journals that are files of the checkpoint, for reading; ``stored`` is what an epoch knows of
    them."""
    made: dict[Place, StoredJournal] = {}
    for name, known in stored.items():
        place = Place(*map(int, name.split("-")))
        journal = FileJournal(home.log(*place), home.runs(*place), "", known)
        found = StoredJournal.of(journal)
        if found is not None:
            made[place] = found
    return made


def _journals(
    stage: StoredStage, found: CheckpointAtRest, slots: Mapping[int, int]
) -> Iterator[tuple[Place, StoredJournal]]:
    kept: dict[Place, dict[int, bytes]] = {place: {} for place in stage.heads}
    for row in stage.log.collect():
        kept[Place(stage.number, slots[row.route])][row.seq] = bytes(row.content)
    for place, head in stage.heads.items():
        files, entries = LogFiles(found.files.log(*place)), kept[place]
        yield place, _journal(head, entries, files, found, place)


def _journal(
    head: Head, entries: dict[int, bytes], files: LogFiles, found: CheckpointAtRest, place: Place
) -> StoredJournal:
    return StoredJournal(head, lambda seq: files.entry(entries[seq]), found.files.runs(*place))
