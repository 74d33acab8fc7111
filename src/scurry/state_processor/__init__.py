"""Writing the state of jobs: Flink's State Processor API.

A savepoint is built from data, or from another savepoint, without a job:
:class:`SavepointWriter`. What it writes, :class:`~scurry.state_reader.SavepointReader` reads, and a
job starts from it with any parallelism.

>>> totals = OperatorTransformation.bootstrap_with(history).key_by(customer).transform(Totals())
>>> SavepointWriter.new_savepoint().with_operator("totals", totals).write("savepoints/begin")
"""

from __future__ import annotations

from scurry.state_processor.transformation import (
    BootstrapContext,
    BootstrapTransformation,
    KeyedOperatorTransformation,
    KeyedStateBootstrapFunction,
    OneInputOperatorTransformation,
    OperatorTransformation,
)
from scurry.state_processor.writer import SavepointWriter
from scurry.state_reader import SavepointReader

__all__ = [
    "BootstrapContext",
    "BootstrapTransformation",
    "KeyedOperatorTransformation",
    "KeyedStateBootstrapFunction",
    "OneInputOperatorTransformation",
    "OperatorTransformation",
    "SavepointReader",
    "SavepointWriter",
]
