"""Kafka's topics as tables: append tables, changelogs by format, and tables by key.

A table by key (``upsert-kafka``) is a topic in which a record's key names a row: a value is the row
as it is now, no value means that the row is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.common.changelog import ChangelogMode
from scurry.common.data_types import DataType, DataTypes, RowType
from scurry.common.errors import TypeMismatchError
from scurry.common.types import RowKind
from scurry.connectors.kafka.outgoing import Outgoing
from scurry.connectors.kafka.reader import forget_reader, reader_of
from scurry.connectors.kafka.sink import KafkaSink
from scurry.connectors.kafka.source import KafkaSource
from scurry.connectors.row_formats import DecodingFormat, EncodingFormat, RowFormatError
from scurry.functions.sink import Records
from scurry.functions.source import Json, SourceBatch

__all__ = ["METADATA", "KafkaRowSink", "KafkaRows", "RecordColumns", "RowRecords"]

#: What Kafka knows of each record, by the name of the metadata column, with the column's type.
METADATA: dict[str, DataType] = {
    "topic": DataTypes.STRING(False),
    "partition": DataTypes.INT(False),
    "headers": DataTypes.MAP(DataTypes.STRING(False), DataTypes.BYTES(False), False),
    "offset": DataTypes.BIGINT(False),
    "timestamp": DataTypes.TIMESTAMP_LTZ(3, False),
    "timestamp-type": DataTypes.STRING(False),
}
_STAMP_TYPES = ("NoTimestampType", "CreateTime", "LogAppendTime")
_DELETED = RowKind.DELETE.value
_UPDATED = RowKind.UPDATE_AFTER.value
_OLD = RowKind.UPDATE_BEFORE.value


@dataclass(frozen=True)
class RecordColumns:
    """How the columns of a table come out of a record: the i-th physical column is column
    ``places[i][1]`` of the key (0) or of the value (1); metadata columns come behind them."""

    row_type: RowType
    key: DecodingFormat | None
    value: DecodingFormat
    places: tuple[tuple[int, int], ...]
    metadata: tuple[str, ...] = ()
    upsert: bool = False

    def decode(self, messages: list[Any]) -> SourceBatch:
        """The rows of Kafka's messages."""
        size = sum(map(len, messages))
        if self.upsert:
            columns, kinds, kept = self._by_key(messages)
        else:
            columns, kinds, kept = self._by_value(messages)
        arrays = [*columns, *(_metadata(name, kept) for name in self.metadata)]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self.row_type.arrow_schema())
        stamps = np.array([message.timestamp()[1] for message in kept], dtype=np.int64)
        return SourceBatch(columns=batch, kinds=kinds, timestamps=stamps, bytes_read=size)

    def _by_value(self, messages: list[Any]) -> tuple[list[Any], Any, list[Any]]:
        messages = [message for message in messages if message.value() is not None]
        decoded = _decoded(self.value, [message.value() for message in messages], messages)
        columns, kinds, origin = decoded
        kept = messages if origin is None else [messages[at] for at in origin.tolist()]
        keys = None
        if self.key is not None:
            keys = _decoded(self.key, [message.key() or b"" for message in kept], kept)[0]
        return self._picked(keys, columns), kinds, kept

    def _by_key(self, messages: list[Any]) -> tuple[list[Any], Any, list[Any]]:
        """Rows of which a deletion has the key only."""
        assert self.key is not None
        messages = [message for message in messages if message.key() is not None]
        keys = _decoded(self.key, [message.key() for message in messages], messages)[0]
        there = [at for at, message in enumerate(messages) if message.value() is not None]
        found = [messages[at] for at in there]
        decoded = _decoded(self.value, [message.value() for message in found], found)
        places = np.full(len(messages), -1, dtype=np.int64)
        rows = np.array(there, dtype=np.int64)
        places[rows if decoded.origin is None else rows[decoded.origin]] = np.arange(
            decoded.columns.num_rows
        )
        index = pa.array(places, mask=places < 0)
        values = pa.RecordBatch.from_arrays(
            [column.take(index) for column in decoded.columns.columns],
            schema=decoded.columns.schema,
        )
        present = np.isin(np.arange(len(messages)), rows)
        kinds = np.where(present, _UPDATED, _DELETED).astype(np.int8)
        lost = present & (places < 0)
        if lost.any():
            keep = np.flatnonzero(~lost)
            keys, values = keys.take(pa.array(keep)), values.take(pa.array(keep))
            kinds, messages = kinds[keep], [messages[at] for at in keep.tolist()]
        return self._picked(keys, values), kinds, messages

    def _picked(self, keys: pa.RecordBatch | None, values: pa.RecordBatch) -> list[pa.Array]:
        parts = (keys, values)
        picked = []
        for part, index in self.places:
            batch = parts[part]
            assert batch is not None
            picked.append(batch.column(index))
        return picked


def _decoded(form: DecodingFormat, contents: Sequence[bytes], messages: list[Any]) -> Any:
    try:
        return form.decode(contents)
    except RowFormatError as failure:
        message = messages[failure.place]
        raise TypeMismatchError(
            f"the record at offset {message.offset()} of {message.topic()}-{message.partition()} "
            f"cannot be read: {failure}. Mend the producer, or set the format's option "
            "'ignore-parse-errors' to true, which passes over such records"
        ) from failure


def _metadata(name: str, messages: list[Any]) -> pa.Array:
    kind = METADATA[name].arrow_type()
    if name == "topic":
        return pa.array([message.topic() for message in messages], kind)
    if name == "partition":
        return pa.array([message.partition() for message in messages], kind)
    if name == "offset":
        return pa.array([message.offset() for message in messages], kind)
    if name == "headers":
        return pa.array([list(message.headers() or ()) for message in messages], kind)
    stamps = [message.timestamp() for message in messages]
    if name == "timestamp":
        return pa.array([stamp for _, stamp in stamps], pa.int64()).cast(kind)
    return pa.array([_STAMP_TYPES[form] for form, _ in stamps], kind)


class KafkaRows(KafkaSource):
    """A :class:`KafkaSource` whose records are columns."""

    columnar = True

    def __init__(self, source: KafkaSource, columns: RecordColumns) -> None:
        self.__dict__.update(source.__dict__)
        self._columns = columns
        self.relation = columns.row_type.arrow_schema()
        self.changelog = ChangelogMode.UPSERT if columns.upsert else columns.value.changelog

    @property
    def position_form(self) -> str:
        return KafkaSource.__name__

    @property
    def type_info(self) -> None:
        return None

    def read(self, what: Json) -> Iterator[SourceBatch]:
        topic, partition, start, end = what
        reader = reader_of(self._client, topic, partition)
        try:
            for messages in reader.read(start, end, self._fail_on_data_loss):
                yield self._columns.decode(messages)
        except BaseException:
            forget_reader(self._client, topic, partition)
            raise


@dataclass(frozen=True)
class RowRecords:
    """How rows become records: which columns the key and the value have, and their formats.
    Metadata columns that are written (``headers``, ``timestamp``) come behind the others."""

    topic: str
    value: EncodingFormat
    value_columns: tuple[int, ...]
    key: EncodingFormat | None = None
    key_columns: tuple[int, ...] = ()
    metadata: tuple[tuple[str, int], ...] = ()
    upsert: bool = False

    def encode_records(self, records: Records) -> Outgoing:
        """The records of rows, which come as columns."""
        assert records.columns is not None
        if not records.columns.num_rows:
            return Outgoing(self.topic, [])
        return self.encode(records.columns, records.kinds)

    def encode(self, columns: pa.RecordBatch, kinds: Any) -> Outgoing:
        """The records of rows. By key the old row of an update is a deletion, as in Flink: its new
        row, which comes next, may have been filtered out, or have another key."""
        values: list[bytes | None] = list(
            self.value.encode(_select(columns, self.value_columns, self.value), kinds)
        )
        if self.upsert and kinds is not None:
            gone = np.isin(kinds, (_DELETED, _OLD)).tolist()
            values = [None if out else one for one, out in zip(values, gone, strict=True)]
        keys: list[bytes | None] | None = None
        if self.key is not None:
            keys = list(self.key.encode(_select(columns, self.key_columns, self.key), None))
        written = {name: columns.column(at) for name, at in self.metadata}
        return Outgoing(self.topic, values, keys, _stamps(written), None, _headers(written))


def _select(
    columns: pa.RecordBatch, indexes: tuple[int, ...], form: EncodingFormat
) -> pa.RecordBatch:
    arrays = [columns.column(index) for index in indexes]
    return pa.RecordBatch.from_arrays(arrays, schema=form.row_type.arrow_schema())


def _stamps(written: dict[str, pa.Array]) -> list[int] | None:
    if "timestamp" not in written:
        return None
    found = written["timestamp"].cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
    return [stamp or 0 for stamp in found.to_pylist()]


def _headers(written: dict[str, pa.Array]) -> list[Any] | None:
    return written["headers"].to_pylist() if "headers" in written else None


class KafkaRowSink(KafkaSink):
    """A :class:`KafkaSink` that takes columns."""

    columnar = True

    def __init__(self, sink: KafkaSink, records: RowRecords) -> None:
        self.__dict__.update(sink.__dict__)
        self._records = records
        self.insertions_only = (
            not records.upsert and records.value.changelog is ChangelogMode.INSERT_ONLY
        )

    @property
    def _encoder(self) -> RowRecords:
        return self._records
