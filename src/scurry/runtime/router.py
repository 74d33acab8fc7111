"""Routers: the exits of a task towards later stages.

There is one router for each output of an operator and each operator of a later stage that the
output leads to. It chooses a slot for every record, gathers the records for a slot until they are
many or the channel is complete, and makes envelopes of them. Envelopes of a channel are numbered,
because Spark does not keep their order.
"""

from __future__ import annotations

from collections.abc import Iterator

from scurry.runtime.batch import Batch
from scurry.runtime.blobs import encode_batch
from scurry.runtime.channels import exit_name
from scurry.runtime.combining import Combined
from scurry.runtime.concat import concat
from scurry.runtime.envelope import COMBINED, DATA, WATERMARK, Envelope
from scurry.runtime.event_time import Mark
from scurry.runtime.failures import NO_ELEMENT, function_error
from scurry.runtime.partitioners import ByKey, Destination
from scurry.runtime.specs import JobSpec, OperatorSpec, SourceSpec, Wire
from scurry.runtime.task_context import TaskContext

_IDLE = b"idle"
#: Records of one slot are gathered up to this number before they become a blob.
BLOB_ROWS = 65_536


class Router:
    """Spreads the records of one output over the slots of one operator's stage.

    One router serves all channels that leave by its exit, one after the other: :meth:`start`, any
    number of calls of :meth:`send` and :meth:`drain`, then :meth:`finish`. A channel may be left
    before it is finished, by starting another one, and started again later.
    """

    def __init__(
        self,
        sender: OperatorSpec | SourceSpec,
        wire: Wire,
        job: JobSpec,
        context: TaskContext,
        tag: str,
        copy: int = 0,
    ) -> None:
        assert wire.partitioning is not None
        self._sender = sender
        self._partitioning = wire.partitioning
        self._combiner = wire.combiner
        self._target = job.operators[wire.target]
        self._port = wire.port
        self._stage = job.stage_of(wire.target)
        self._context = context
        self._prefix = exit_name(sender.uid, tag, wire.port, copy)
        self._channel = ""
        self._seq = 0
        #: the last sequence numbers of channels that were left before they were finished
        self._left: dict[str, int] = {}
        self._waiting: dict[int, list[Batch]] = {}
        self._waiting_rows: dict[int, int] = {}
        self._combined: dict[int, list[Combined]] = {}
        self._ready: list[Envelope] = []

    def start(self, place: str) -> None:
        """Make the channel from ``place`` the current one (:mod:`scurry.runtime.channels`); what is
        sent from now on belongs to it."""
        if self._channel:
            self._seal_all()
            self._left[self._channel] = self._seq
        self._channel = self._prefix + place
        self._seq = self._left.pop(self._channel, 0)

    def send(self, batch: Batch) -> None:
        """Choose slots for the records of ``batch``, and gather them."""
        target, context = self._target, self._context
        place = context.place
        to = Destination(target.parallelism, place.max_parallelism, place.index, context.turn)
        try:
            batch = self._combine(batch, to)
            for slot, part in self._partitioning.spread(batch, to) if batch.size else ():
                self._waiting.setdefault(slot, []).append(part)
                self._waiting_rows[slot] = self._waiting_rows.get(slot, 0) + part.size
        except Exception as failure:
            name = f"{self._partitioning.name} partitioning into {target.name}"
            raise function_error(
                name, target.uid, target.location, NO_ELEMENT, failure
            ) from failure
        for slot in [slot for slot, rows in self._waiting_rows.items() if rows >= BLOB_ROWS]:
            self._seal(slot)

    def _combine(self, batch: Batch, to: Destination) -> Batch:
        """Combine records where that is possible and worthwhile, and gather the result; returns
        the records that travel as they are."""
        if self._combiner is None:
            return batch
        assert isinstance(self._partitioning, ByKey)
        combined, rest = self._combiner.split(batch, self._partitioning.key_column(batch))
        if combined is not None:
            self._context.report.count(f"combined:{self._target.uid}", combined.records)
            for slot, part in combined.by_slot(self._partitioning.slots_of(combined.keys, to)):
                self._combined.setdefault(slot, []).append(part)
                self._waiting_rows[slot] = self._waiting_rows.get(slot, 0) + part.size
        return rest

    def _seal_all(self) -> None:
        for slot in sorted(self._waiting_rows):
            self._seal(slot)

    def _seal(self, slot: int) -> None:
        del self._waiting_rows[slot]
        combined = self._combined.pop(slot, None)
        if combined:
            assert self._combiner is not None
            payload = self._combiner.pack(combined)
            self._ready.append(self._envelope(slot, COMBINED, 0, payload))
        batches = self._waiting.pop(slot, None)
        if not batches:
            return
        columnar = all(batch.columns is not None for batch in batches)
        try:
            for piece in batches if columnar else [concat(batches)]:
                self._ready.append(self._envelope(slot, DATA, 0, encode_batch(piece)))
        except Exception as failure:
            sender = self._sender
            raise function_error(sender.name, sender.uid, "", NO_ELEMENT, failure) from failure

    def _envelope(self, slot: int, kind: int, watermark: int, payload: bytes) -> Envelope:
        self._seq += 1
        return Envelope(
            slot,
            self._stage,
            self._target.uid,
            self._port,
            self._channel,
            self._seq,
            kind,
            watermark,
            payload,
        )

    def drain(self) -> Iterator[Envelope]:
        """The envelopes made so far. Called after each batch, so that memory stays bounded."""
        ready, self._ready = self._ready, []
        yield from ready

    def finish(self, mark: Mark) -> Iterator[Envelope]:
        """The current channel has no more records in this micro-batch: its last envelopes, then one
        with its mark for every slot."""
        self._seal_all()
        yield from self.drain()
        for slot in range(self._target.parallelism):
            yield self._envelope(slot, WATERMARK, mark.watermark, _IDLE if mark.idle else b"")
        self._channel = ""


def mark_of(envelope: Envelope) -> Mark:
    """The mark that a WATERMARK envelope carries."""
    return Mark(envelope.watermark, envelope.payload == _IDLE)
