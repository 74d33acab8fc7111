"""The one ``StatefulProcessor``: gives a :class:`SlotHost` its envelopes and its journal.

Spark's grouping key is the slot's route, so there is one call per slot and micro-batch. The state
variables do not depend on the user's program: a head, and a map of log entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from scurry.common.errors import StateError
from scurry.compile.spark.worker import JobPayload, run_host
from scurry.runtime.envelope import Envelope
from scurry.state.journal import Head, Journal, decode_head, encode_head

_FIELDS = Envelope._fields
_EnvelopeRow = Row(*_FIELDS)
# given as text, a schema would be parsed by the JVM in every task
_CONTENT = StructType([StructField("content", BinaryType())])
_SEQ = StructType([StructField("seq", LongType())])


class StageHost(StatefulProcessor):
    """Runs stage ``stage`` of a job."""

    def __init__(self, payload: JobPayload, stage: int) -> None:
        self._payload = payload
        self._stage = stage
        self._slots = {route: slot for slot, route in enumerate(payload.routes)}

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._head = handle.getValueState("head", _CONTENT)
        self._log = handle.getMapState("log", _SEQ, _CONTENT)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        slot = self._slots[key[0]]
        routes = self._payload.routes
        journal = SparkJournal(self._head, self._log, self._payload.runs_of(self._stage, slot))
        received = (Envelope(slot, *(row[name] for name in _FIELDS[1:])) for row in rows)
        for envelope in run_host(self._payload, self._stage, slot, received, journal):
            yield _EnvelopeRow(routes[envelope.slot % len(routes)], *envelope[1:])

    def close(self) -> None:
        pass


class SparkJournal(Journal):
    """A slot's journal in Spark's state store, with runs in the job's directory."""

    def __init__(self, head: Any, log: Any, runs: Path) -> None:
        self._head = head
        self._log = log
        self._runs = runs

    @property
    def runs(self) -> Path:
        return self._runs

    def head(self) -> Head | None:
        found = self._head.get()
        return None if found is None else decode_head(bytes(found[0]))

    def put_head(self, head: Head) -> None:
        self._head.update((encode_head(head),))

    def append(self, seq: int, blob: bytes) -> None:
        self._log.updateValue((seq,), (blob,))

    def read(self, seq: int) -> bytes:
        found = self._log.getValue((seq,))
        if found is None:
            raise StateError(
                f"Entry {seq} of the log of state is missing from Spark's state store: the "
                "checkpoint is damaged. Start from a savepoint or an empty directory."
            )
        return bytes(found[0])

    def remove(self, seq: int) -> None:
        self._log.removeKey((seq,))
