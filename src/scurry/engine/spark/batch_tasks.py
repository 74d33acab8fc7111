"""What Spark runs in a micro-batch that is a plain Spark job, because journals are files.

Such a job has a task for each task of the ingress and, for each stage, one for each slot. Between
them Spark shuffles envelopes by their slots. A task of a slot gets the head of the slot's journal
with the job, and sends the driver the new one. That one counts when the driver has written it into
the epoch; so tasks may be run again, or twice at the same time, as Spark likes.

A process that keeps a slot between micro-batches keeps its journal too, and goes on with it if the
head that comes with the job is the one that it has sent. Otherwise another process, or nobody, has
done what counts. Then the journal begins at that head, with a token of its own in the names of
files (:mod:`scurry.checkpoint.file_journal`). So no two attempts ever write to the same name.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from scurry.checkpoint.file_journal import FileJournal, StoredHead, place_name
from scurry.engine.spark.payload import JobPayload
from scurry.engine.spark.worker import run_host, run_planned
from scurry.runtime.envelope import DRIVER, HEAD, Envelope
from scurry.runtime.ingress import TaskPlan

#: An envelope as Spark moves it: the slot it is for, and its fields.
Moved = tuple[int, tuple[object, ...]]
_heads = msgspec.msgpack.Decoder(tuple[str, StoredHead])
#: by the local stores of a job, stage and slot: the run, and the journal as this process left it
_journals: dict[tuple[str, int, int], tuple[str, FileJournal]] = {}


class IngressTasks:
    """Reads the sources, each task what its plan says."""

    def __init__(self, payload: JobPayload, slots: int) -> None:
        self._payload = payload
        self._slots = slots

    def __call__(self, plans: Iterable[TaskPlan | None]) -> Iterator[Moved]:
        for plan in plans:
            if plan is not None:
                yield from _moved(run_planned(self._payload, plan), self._slots)


class StageTasks:
    """Runs the slots of ``stage``; ``heads`` are those of their journals, by slot."""

    def __init__(
        self, payload: JobPayload, stage: int, slots: int, heads: Mapping[int, StoredHead]
    ) -> None:
        self._payload = payload
        self._stage = stage
        self._slots = slots
        self._heads = dict(heads)

    def __call__(self, slot: int, arrived: Iterable[Moved]) -> Iterator[Moved]:
        payload, stage = self._payload, self._stage
        received = (Envelope._make(fields) for _, fields in arrived)
        place = (payload.stores, stage, slot)
        # only what has come to its end is taken up again
        journal = _go_on(payload, _journals.pop(place, None), stage, slot, self._heads.get(slot))
        yield from _moved(run_host(payload, stage, slot, received, journal), self._slots)
        _journals[place] = payload.run_id, journal
        if journal.stored is not None:
            told = msgspec.msgpack.encode((place_name(stage, slot), journal.stored))
            yield from _moved([Envelope(slot, DRIVER, "", 0, "", 0, HEAD, 0, told)], self._slots)


def _go_on(
    payload: JobPayload,
    left: tuple[str, FileJournal] | None,
    stage: int,
    slot: int,
    stored: StoredHead | None,
) -> FileJournal:
    """The journal of a slot as of the last epoch, which knows ``stored`` of it."""
    if left is not None and left[0] == payload.run_id and left[1].stored == stored:
        return left[1]
    home, token = payload.home, uuid.uuid4().hex[:12]
    before = None if left is None else left[1].stored
    return FileJournal(home.log(stage, slot), home.runs(stage, slot), token, stored, before)


def _moved(envelopes: Iterable[Envelope], slots: int) -> Iterator[Moved]:
    for envelope in envelopes:
        yield envelope.slot % slots, tuple(envelope)


def own_partition(slot: int) -> int:
    """The partition of Spark's in which a slot is."""
    return slot


def heads_in(envelopes: Iterable[Envelope]) -> dict[str, StoredHead]:
    """The heads of journals that tasks have sent, by the names of their places."""
    told = (_heads.decode(each.payload) for each in envelopes if each.kind == HEAD)
    return dict(told)
