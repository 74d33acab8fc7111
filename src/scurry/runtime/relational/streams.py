"""Elements of a stream as rows of a relation, and rows as elements."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from scurry.common.errors import TypeMismatchError
from scurry.common.type_information import TypeInformation
from scurry.runtime.batch import NO_TIMESTAMP, Batch
from scurry.runtime.columns import ElementCodec
from scurry.runtime.relational.relation import RelationalOperator, milliseconds, timestamps
from scurry.runtime.specs import OperatorSpec


class StreamColumnsOperator(RelationalOperator):
    """Fields of the elements, and their timestamps, cast to the types of the columns. An element
    keeps its place, its times and its kind."""

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        elements: TypeInformation,
        places: tuple[int | None, ...],
    ) -> None:
        super().__init__(spec, columns, inputs)
        elements_codec = ElementCodec.of_type(elements)
        assert elements_codec is not None, "the type of a table's elements has columns"
        self._elements = elements_codec
        self._places = places

    def process(self, batch: Batch, port: int = 0) -> None:
        made = []
        try:
            given = self.columns_of(batch)
            for place, field in zip(self._places, self.columns, strict=True):
                if place is None:
                    made.append(self._times(batch, field.type))
                else:
                    # a TIME has milliseconds, whatever the values have
                    exact = not pa.types.is_time(field.type)
                    made.append(given.column(place).cast(field.type, safe=exact))
        except (pa.ArrowException, TypeMismatchError) as failure:
            raise self.failed(failure) from failure
        self.send(batch, made, np.arange(batch.size), batch.kinds)

    def columns_of(self, batch: Batch, port: int = 0) -> pa.RecordBatch:
        """The elements as columns; what no column holds as it is, such as an ``Instant``, is made
        into what the type of the elements says."""
        if batch.columns is None:
            return self._elements.to_columns(batch.rows)
        return super().columns_of(batch, port)

    def _times(self, batch: Batch, kind: pa.DataType) -> pa.Array:
        if batch.ts is None or bool((batch.ts == NO_TIMESTAMP).any()):
            raise TypeMismatchError(
                "a rowtime column is made of the stream's timestamps, and an element has none. "
                "Call assign_timestamps_and_watermarks before from_data_stream"
            )
        return timestamps(batch.ts, kind)


class RecordTimesOperator(RelationalOperator):
    """Gives rows that leave for a stream the timestamps that their rowtime column says. Within
    SQL a row may have been caused by another one, whose time it carries until here."""

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        rowtime: int,
    ) -> None:
        super().__init__(spec, columns, inputs)
        self._rowtime = rowtime

    def process(self, batch: Batch, port: int = 0) -> None:
        columns = self.columns_of(batch)
        stamps = milliseconds(columns.column(self._rowtime)).fill_null(NO_TIMESTAMP)
        timed = batch.caused(columns, self.codec, None, batch.kinds)
        timed.ts = stamps.to_numpy(zero_copy_only=False)
        self.emit(timed)
