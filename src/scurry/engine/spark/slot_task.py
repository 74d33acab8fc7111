"""What a :class:`StageHost` has a slot do: rows become envelopes, and envelopes rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row

from scurry.checkpoint.log_files import LogFiles
from scurry.engine.spark.payload import JobPayload
from scurry.engine.spark.spark_journal import SparkJournal
from scurry.engine.spark.worker import run_host
from scurry.runtime.envelope import Envelope

_FIELDS = Envelope._fields
_EnvelopeRow = Row(*_FIELDS)


def run_slot(
    payload: JobPayload, stage: int, route: int, rows: Iterator[Row], head: Any, log: Any
) -> Iterator[Row]:
    """The slot behind ``route`` in one micro-batch; ``head`` and ``log`` are Spark's variables."""
    routes = payload.routes
    slot = routes.index(route)
    files = LogFiles(payload.home.log(stage, slot), payload.files_above)
    journal = SparkJournal(head, log, files, payload.home.runs(stage, slot))
    received = (Envelope(slot, *(row[name] for name in _FIELDS[1:])) for row in rows)
    for envelope in run_host(payload, stage, slot, received, journal):
        yield _EnvelopeRow(routes[envelope.slot % len(routes)], *envelope[1:])
