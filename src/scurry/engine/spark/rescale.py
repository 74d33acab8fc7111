"""A checkpoint for another parallelism or number of key groups, another engine, or a program whose
operators run in other stages.

Spark reads the journals of the last committed micro-batch, out of its state stores or out of files,
a task for each slot, and each task deals its journal out into files, one for each new slot. Nothing
of the checkpoint is changed meanwhile. When all is written, and with it the epoch and the plan of a
micro-batch that may have to be run again, the job's directory switches to the new generation. A
crash before that leaves files that the next start deletes; a crash after it, the new generation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import groupby
from operator import itemgetter

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from scurry.checkpoint.directory import JobDirectory
from scurry.checkpoint.file_journal import StoredHead, place_name
from scurry.checkpoint.initial_state import InitialState, Shares
from scurry.checkpoint.layout import Home
from scurry.checkpoint.log_files import LogFiles
from scurry.checkpoint.manifest import Generation
from scurry.checkpoint.written_state import deal_out_written
from scurry.common.fault_points import fault_point
from scurry.common.options.execution import LIVE
from scurry.engine.spark.local_stores import delete_stores
from scurry.engine.spark.payload import JobPayload
from scurry.engine.spark.relayed_state import relayed_journals
from scurry.engine.spark.session import query_session
from scurry.engine.spark.stored_journals import (
    StoredStage,
    file_journals,
    is_readable,
    readable_checkpoint,
    slots_by_route,
)
from scurry.engine.standing import carry_over
from scurry.runtime.rescaling import Split, deal_for, redeal
from scurry.runtime.specs import JobSpec
from scurry.state.codecs.schemas import Renumbering
from scurry.state.journal import Head
from scurry.state.rescaling import Deal, Gathered, Place, Splitter
from scurry.state.slot_records import large_groups

_SUMMARY = "origin int, gathered binary"
_SUMMARY_ARROW = pa.schema([("origin", pa.int32()), ("gathered", pa.binary())])
_gathered = msgspec.msgpack.Decoder(Gathered)
#: Journal entries that a task holds at a time; each has up to some megabytes.
_ENTRIES_AT_ONCE = "4"


def rescale(
    session: SparkSession, directory: JobDirectory, job: JobSpec, payload: JobPayload
) -> None:
    """Make a generation for the parallelism and the stages of ``job`` out of the last committed
    micro-batch, and put it into force; ``payload`` brings the job's classes to the workers."""
    made = directory.draft(job)
    before, last = directory.durable()
    if last >= 0:
        _deal_out_state(session, directory, before, made, job, payload)
    _carry_over(directory, made, job)
    fault_point("rescaling")
    directory.switch_to(made)
    fault_point("rescaled")
    delete_stores(job.local_root, payload.stores)


def _carry_over(directory: JobDirectory, made: Generation, job: JobSpec) -> None:
    """Take along where the sources stand, and a plan that may have been executed already."""
    carried = carry_over(directory, job)
    if carried.epoch is not None:
        directory.write_epoch_of(made, carried.epoch)
        promised = directory.promises(carried.epoch.batch)
        if promised:
            directory.write_promises_of(made, carried.epoch.batch, promised)
    if carried.planned is not None:
        directory.write_plan_of(made, made.first, carried.tasks, carried.planned)


def _deal_out_state(
    session: SparkSession,
    directory: JobDirectory,
    before: Generation,
    made: Generation,
    job: JobSpec,
    payload: JobPayload,
) -> None:
    deal = deal_for(job, before.max_parallelism)
    old, new = directory.home_of(before), directory.home_of(made)
    if before.written:
        deal_out_written(old, new, deal, before)
        return
    if before.engine == LIVE:
        _, last = directory.durable()
        stored = directory.epoch_of(before, last).journals
        heads, split = _split_files(session, payload, deal, old, new, stored)
    elif is_readable(session, old.spark):
        heads, split = _split_stores(session, payload, deal, old, new, before)
    else:
        relayed = relayed_journals(old, before.stages, slots_by_route(before.parallelism))
        heads, split = _split_files(session, payload, deal, old, new, relayed)
    for place, start in redeal(heads, split, deal, before.operators).items():
        InitialState(new.initial_state_of(*place)).write_start(start)


def _split_stores(
    session: SparkSession,
    payload: JobPayload,
    deal: Deal,
    old: Home,
    new: Home,
    before: Generation,
) -> tuple[dict[Place, Head], Split]:
    """The heads of journals in Spark's state stores, and what deals these journals out."""
    own = query_session(session, before.parallelism)
    own.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", _ENTRIES_AT_ONCE)
    slots = slots_by_route(before.parallelism)
    spark = readable_checkpoint(old.spark)
    stages = [StoredStage(own, spark, number, slots) for number in range(before.stages)]
    heads = {place: head for stage in stages for place, head in stage.heads.items()}

    def split(renumbering: Mapping[Place, Renumbering]) -> dict[Place, Gathered]:
        gathered: dict[Place, Gathered] = {}
        for stage in stages:
            dealer = _Dealer(payload, deal, old, new, stage.heads)
            task = _SplitTask(dealer, slots, stage.number)
            gathered.update(_split(stage.log, task, renumbering))
        return gathered

    return heads, split


def _split_files(
    session: SparkSession,
    payload: JobPayload,
    deal: Deal,
    old: Home,
    new: Home,
    stored: Mapping[str, StoredHead],
) -> tuple[dict[Place, Head], Split]:
    """The heads of journals that are files, and what deals these journals out."""
    journals = file_journals(old, stored)
    heads = {place: journal.head for place, journal in journals.items()}
    dealer = _Dealer(payload, deal, old, new, heads)

    def split(renumbering: Mapping[Place, Renumbering]) -> dict[Place, Gathered]:
        task = _SplitFiles(dealer, dict(stored), dict(renumbering))
        places = session.sparkContext.parallelize(sorted(heads), len(heads))
        return {place: _gathered.decode(found) for place, found in places.map(task).collect()}

    return heads, split


def _split(
    log: DataFrame, task: _SplitTask, renumbering: Mapping[Place, Renumbering]
) -> dict[Place, Gathered]:
    """Have Spark deal out the journals of a stage."""
    ordered = log.sortWithinPartitions("route", "seq")
    done = ordered.mapInArrow(partial(task, dict(renumbering)), _SUMMARY).collect()
    stage = task.stage
    return {Place(stage, row.origin): _gathered.decode(bytes(row.gathered)) for row in done}


class _Dealer:
    """Deals out journals, in whatever process."""

    def __init__(
        self,
        payload: JobPayload,
        deal: Deal,
        old: Home,
        new: Home,
        heads: Mapping[Place, Head],
    ) -> None:
        self._payload = payload
        self._deal = deal
        self.old = old
        self._new = new
        self._heads = heads

    def prepare(self) -> None:
        """Called once in a process that deals: keys of users' classes are unpickled."""
        self._payload.load()

    def deal(
        self,
        origin: Place,
        entries: Iterable[tuple[int, bytes]],
        renumbering: Mapping[Place, Renumbering],
    ) -> bytes:
        """Deal out the journal of ``origin``, given its entries in order; what was gathered."""
        head, numbers = self._heads[origin], renumbering.get(origin)
        with Shares(self._new, origin) as shares:
            splitter = Splitter(origin, self._deal, shares.append, numbers, head.counts)
            for seq, entry in entries:
                splitter.take(seq, entry)
            for group in large_groups(head, self.old.runs(*origin)):
                splitter.take_group(group)
            splitter.finish()
        return msgspec.msgpack.encode(splitter.gathered)


class _SplitFiles:
    """What Spark runs for each journal that is files."""

    def __init__(
        self,
        dealer: _Dealer,
        stored: dict[str, StoredHead],
        renumbering: dict[Place, Renumbering],
    ) -> None:
        self._dealer = dealer
        self._stored = stored
        self._renumbering = renumbering

    def __call__(self, place: Place) -> tuple[Place, bytes]:
        self._dealer.prepare()
        origin = Place(*place)
        name = place_name(*origin)
        journal = file_journals(self._dealer.old, {name: self._stored[name]})[origin]
        numbers = range(journal.head.first, journal.head.next)
        entries = ((seq, journal.read(seq)) for seq in numbers)
        return origin, self._dealer.deal(origin, entries, self._renumbering)


class _SplitTask:
    """What Spark runs on each partition of the journals in its state stores."""

    def __init__(self, dealer: _Dealer, slots: dict[int, int], stage: int) -> None:
        self._dealer = dealer
        self._slots = slots
        self.stage = stage

    def __call__(
        self, renumbering: Mapping[Place, Renumbering], batches: Iterable[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        self._dealer.prepare()
        for route, found in groupby(_entries(batches), itemgetter(0)):
            origin = Place(self.stage, self._slots[route])
            kept = LogFiles(self._dealer.old.log(*origin))
            entries = ((seq, kept.entry(content)) for _, seq, content in found)
            gathered = self._dealer.deal(origin, entries, renumbering)
            yield pa.RecordBatch.from_pydict(
                {"origin": [origin.slot], "gathered": [gathered]}, schema=_SUMMARY_ARROW
            )


def _entries(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, int, bytes]]:
    """Routes, numbers and entries, in order."""
    for batch in batches:
        for row in range(batch.num_rows):
            route, seq, content = (batch.column(at)[row].as_py() for at in range(3))
            yield route, seq, content
