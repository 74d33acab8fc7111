"""The one ``StatefulProcessor``, which gives a :class:`SlotHost` its envelopes and its journal.

Spark's grouping key is the slot's route, so Spark calls the processor once for each slot and
micro-batch. Its state variables do not depend on the user's program: the journal's head, and a map
of the journal's entries.

When a query starts, Spark starts a separate Python process that asks the processor for its
variables, and waits for the answer. So this module imports nothing that takes time, and the job
travels as bytes.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

if TYPE_CHECKING:
    from scurry.engine.spark.payload import JobPayload

# given as text, a schema would be parsed by the JVM in every task
_CONTENT = StructType([StructField("content", BinaryType())])
_SEQ = StructType([StructField("seq", LongType())])


class StageHost(StatefulProcessor):
    """Runs stage ``stage`` of a job."""

    def __init__(self, payload: JobPayload, stage: int) -> None:
        self._payload = pickle.dumps(payload, protocol=5)
        self._stage = stage

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._head = handle.getValueState("head", _CONTENT)
        self._log = handle.getMapState("log", _SEQ, _CONTENT)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        from scurry.engine.spark.slot_task import run_slot

        payload: JobPayload = pickle.loads(self._payload)
        return run_slot(payload, self._stage, key[0], rows, self._head, self._log)

    def close(self) -> None:
        pass
