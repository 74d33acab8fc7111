"""The operator at the end of a chain: hands records to a sink's writer."""

from __future__ import annotations

from scurry.common.pickling import dumps
from scurry.functions.sink import Sink, SinkWriter, WriterContext
from scurry.runtime.batch import Batch
from scurry.runtime.operator import Operator
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext


class SinkOperator(Operator):
    """Writes records; at the end of a micro-batch it reports what the driver has to commit."""

    state_kind = "sink"

    def __init__(self, spec: OperatorSpec, sink: Sink) -> None:
        super().__init__(spec)
        self._sink = sink
        self._writer: SinkWriter | None = None

    def open(self, context: TaskContext) -> None:
        super().open(context)
        self._place = WriterContext(
            self.spec.uid, context.place.index, self.spec.parallelism, context.place.guarantee
        )

    def process(self, batch: Batch, port: int = 0) -> None:
        try:
            if self._writer is None:
                self._writer = self._sink.create_writer(self._place)
                self.start_checkpointed(self._writer)
            self._writer.write_records(batch, self.context.now)
        except Exception as failure:
            raise self.failed(failure) from failure
        self.meter.records_out += batch.size
        self.context.report.count(f"written:{self.spec.uid}", batch.size)

    def prepare(self) -> bytes | None:
        """The message for the driver, None if there is nothing to commit."""
        if self._writer is None:
            return None
        try:
            message = self._writer.prepare()
        except Exception as failure:
            raise self.failed(failure) from failure
        return None if message is None else dumps(message)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
