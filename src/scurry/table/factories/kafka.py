"""The connectors ``kafka`` and ``upsert-kafka``."""

from __future__ import annotations

from typing import Any

from scurry.common.changelog import ChangelogMode
from scurry.common.data_types import RowType
from scurry.common.options.option import Option
from scurry.common.serialization import ByteArraySchema
from scurry.connectors.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from scurry.connectors.kafka.outgoing import KafkaRecordSerializationSchema
from scurry.connectors.kafka.sink import KafkaSink
from scurry.connectors.kafka.source import KafkaSource, KafkaSourceBuilder
from scurry.connectors.tables.kafka_rows import (
    METADATA,
    KafkaRows,
    KafkaRowSink,
    RecordColumns,
    RowRecords,
)
from scurry.functions.sink import DeliveryGuarantee
from scurry.table.factories.change_formats import CHANGE_FORMATS
from scurry.table.factories.contract import (
    ConnectorFactory,
    ScanSource,
    TableContext,
    TableOption,
    TableSink,
    optional,
    prefixed,
    taken,
)
from scurry.table.factories.formats import format_of
from scurry.table.factories.simple import SINK_PARALLELISM, parallelism_of

__all__ = ["KafkaFactory", "UpsertKafkaFactory"]

_CHANGES = tuple(one.identifier for one in CHANGE_FORMATS)
#: The metadata that can be written.
WRITABLE = {name: METADATA[name] for name in ("headers", "timestamp")}

_TOPIC: Option[tuple[str, ...]] = Option(
    "topic", "list", (), "The topic, or several to read, separated by semicolons."
)
_PATTERN: Option[str | None] = Option(
    "topic-pattern", "string", None, "A regular expression for the names of topics to read."
)
_PROPERTIES: Option[str] = Option(
    "properties.",
    "string",
    "",
    "Settings of Kafka's client, such as `properties.bootstrap.servers` and `properties.group.id`.",
)
_SERVERS: Option[str] = Option(
    "properties.bootstrap.servers", "string", "", "The brokers, separated by commas."
)
_FORMAT: Option[str] = Option("format", "string", "", "The format of the values.")
_VALUE_FORMAT: Option[str] = Option(
    "value.format", "string", "", "The format of the values; the same as `format`."
)
_KEY_FORMAT: Option[str] = Option("key.format", "string", "", "The format of the keys.")
_KEY_FIELDS: Option[tuple[str, ...]] = Option(
    "key.fields", "list", (), "The columns that are in the key, separated by semicolons."
)
_KEY_PREFIX: Option[str] = Option(
    "key.fields-prefix",
    "string",
    "",
    "What the names of key columns begin with in the table and not in the key.",
)
_INCLUDE: Option[str] = Option(
    "value.fields-include",
    "enum",
    "ALL",
    "Whether the columns of the key are in the value, too.",
    choices=("ALL", "EXCEPT_KEY"),
)
_STARTUP: Option[str] = Option(
    "scan.startup.mode",
    "enum",
    "group-offsets",
    "Where a job without history begins.",
    choices=(
        "earliest-offset",
        "latest-offset",
        "group-offsets",
        "timestamp",
        "specific-offsets",
    ),
)
_STARTUP_OFFSETS, _BOUNDED_OFFSETS = (
    Option[str](key, "string", "", "As `partition:0,offset:42;partition:1,offset:9`.")
    for key in ("scan.startup.specific-offsets", "scan.bounded.specific-offsets")
)
_STARTUP_TIME: Option[int | None] = Option(
    "scan.startup.timestamp-millis", "integer", None, "The time to begin at."
)
_BOUNDED: Option[str] = Option(
    "scan.bounded.mode",
    "enum",
    "unbounded",
    "Where the table ends.",
    choices=("unbounded", "latest-offset", "group-offsets", "timestamp", "specific-offsets"),
)
_BOUNDED_TIME: Option[int | None] = Option(
    "scan.bounded.timestamp-millis", "integer", None, "The time to end at."
)
_DISCOVERY: Option[int] = Option(
    "scan.topic-partition-discovery.interval",
    "duration",
    300_000,
    "How often to look for new partitions; 0 is never.",
)
_GUARANTEE: Option[str] = Option(
    "sink.delivery-guarantee",
    "enum",
    "at-least-once",
    "How often a record may arrive.",
    choices=("exactly-once", "at-least-once", "none"),
)
_TRANSACTIONS: Option[str | None] = Option(
    "sink.transactional-id-prefix",
    "string",
    None,
    "What transactions are called; needed with exactly-once.",
)
_TAKEN = taken(
    "sink.partitioner",
    "scan.parallelism",
    "sink.buffer-flush.max-rows",
    "sink.buffer-flush.interval",
    "sink.semantic",
    "sink.transaction-naming-strategy",
)
_SHARED = (
    TableOption(_PROPERTIES, is_prefix=True),
    TableOption(_SERVERS, required=True),
    *optional(
        _TOPIC,
        _KEY_FORMAT,
        _KEY_PREFIX,
        _VALUE_FORMAT,
        _INCLUDE,
        _BOUNDED,
        _BOUNDED_OFFSETS,
        _BOUNDED_TIME,
        _DISCOVERY,
        _GUARANTEE,
        _TRANSACTIONS,
        SINK_PARALLELISM,
        *_TAKEN,
    ),
)


class _Columns:
    """Which columns of a table are in the key, and which in the value."""

    def __init__(self, context: TableContext, keys: tuple[str, ...], prefix: str) -> None:
        self.context = context
        self.row_type = context.physical
        names = self.row_type.field_names()
        for key in keys:
            if key not in names:
                raise context.refuse(f"the key column {key!r} is none of its columns {names}.")
            if not key.startswith(prefix):
                raise context.refuse(
                    f"the key column {key!r} does not begin with 'key.fields-prefix', {prefix!r}."
                )
        self.keys = keys
        left_out = keys if context.read(_INCLUDE) == "EXCEPT_KEY" else ()
        if prefix and context.read(_INCLUDE) != "EXCEPT_KEY":
            raise context.refuse(
                "'key.fields-prefix' needs 'value.fields-include' = 'EXCEPT_KEY': the columns of "
                "the key would be in the value under other names."
            )
        self.values = tuple(name for name in names if name not in left_out)
        self.prefix = prefix

    def key_type(self) -> RowType:
        kinds = [self.row_type[name].data_type for name in self.keys]
        return RowType.of([name.removeprefix(self.prefix) for name in self.keys], kinds)

    def value_type(self) -> RowType:
        return RowType([self.row_type[name] for name in self.values])

    def places(self) -> tuple[tuple[int, int], ...]:
        """For each physical column where it comes from; the value's is taken if both have it."""
        return tuple(
            (1, self.values.index(name)) if name in self.values else (0, self.keys.index(name))
            for name in self.row_type.field_names()
        )

    def key_places(self) -> tuple[tuple[int, int], ...]:
        """The same with keys taken from the key: a deletion has nothing else."""
        return tuple(
            (0, self.keys.index(name)) if name in self.keys else (1, self.values.index(name))
            for name in self.row_type.field_names()
        )


class KafkaFactory(ConnectorFactory):
    """Kafka's topics."""

    identifier = "kafka"
    doc = "Topics of Kafka: append tables, or changelogs in a format that has them."
    options = (
        *_SHARED,
        *optional(_PATTERN, _FORMAT, _KEY_FIELDS, _STARTUP, _STARTUP_OFFSETS, _STARTUP_TIME),
    )
    readable = METADATA
    writable = WRITABLE
    format_options = ("format", "key.format", "value.format")

    def _columns(self, context: TableContext) -> _Columns:
        keys = context.read(_KEY_FIELDS)
        if keys and not context.has(_KEY_FORMAT):
            raise context.refuse("'key.fields' needs 'key.format'.")
        return _Columns(context, keys, context.read(_KEY_PREFIX))

    def projects(self, context: TableContext) -> bool:
        plain = context.options.get(_value_option(context)) in ("json", *_CHANGES)
        return plain and not context.has(_KEY_FIELDS)

    def source(self, context: TableContext) -> ScanSource:
        columns = self._columns(context)
        factory, settings = format_of(context, _value_option(context))
        value = factory.decoding(columns.value_type(), settings)
        key = None
        if columns.keys:
            key_factory, key_settings = format_of(context, "key.format")
            key = key_factory.decoding(columns.key_type(), key_settings)
        return _source(context, columns, key, value, self._started(context), upsert=False)

    def _started(self, context: TableContext) -> KafkaOffsetsInitializer:
        mode = context.read(_STARTUP)
        given = (context.read(_STARTUP_TIME), context.read(_STARTUP_OFFSETS))
        return _offsets(context, "scan.startup", mode, *given)

    def sink(self, context: TableContext) -> TableSink:
        columns = self._columns(context)
        factory, settings = format_of(context, _value_option(context))
        value = factory.encoding(columns.value_type(), settings)
        key = None
        if columns.keys:
            key_factory, key_settings = format_of(context, "key.format")
            key = key_factory.encoding(columns.key_type(), key_settings)
        records = _records(context, columns, key, value, upsert=False)
        return _sink(context, records, value.changelog)


class UpsertKafkaFactory(ConnectorFactory):
    """Tables by key."""

    identifier = "upsert-kafka"
    doc = "Topics of Kafka as tables by key: the last record of a key is the row, none is none."
    options = (
        *(one for one in _SHARED if one.key not in ("key.format", "value.format")),
        TableOption(_KEY_FORMAT, required=True),
        TableOption(_VALUE_FORMAT, required=True),
    )
    readable = METADATA
    writable = WRITABLE
    format_options = ("key.format", "value.format")

    def _columns(self, context: TableContext) -> _Columns:
        if not context.primary_key:
            raise context.refuse(
                "a table of upsert-kafka needs a primary key, which becomes the records' key: "
                "declare PRIMARY KEY (...) NOT ENFORCED."
            )
        return _Columns(context, context.primary_key, context.read(_KEY_PREFIX))

    def source(self, context: TableContext) -> ScanSource:
        columns = self._columns(context)
        factory, settings = format_of(context, "value.format")
        key_factory, key_settings = format_of(context, "key.format")
        value = factory.decoding(columns.value_type(), settings)
        self._check(context, value.changelog)
        key = key_factory.decoding(columns.key_type(), key_settings)
        start = KafkaOffsetsInitializer.earliest()
        return _source(context, columns, key, value, start, upsert=True)

    def sink(self, context: TableContext) -> TableSink:
        columns = self._columns(context)
        factory, settings = format_of(context, "value.format")
        key_factory, key_settings = format_of(context, "key.format")
        value = factory.encoding(columns.value_type(), settings)
        self._check(context, value.changelog)
        key = key_factory.encoding(columns.key_type(), key_settings)
        records = _records(context, columns, key, value, upsert=True)
        return _sink(context, records, ChangelogMode.UPSERT)

    def _check(self, context: TableContext, changelog: ChangelogMode) -> None:
        if changelog is not ChangelogMode.INSERT_ONLY:
            raise context.refuse(
                "a format that is a changelog itself cannot be the value format of upsert-kafka; "
                "take the connector 'kafka' for it."
            )


def _value_option(context: TableContext) -> str:
    both = context.has(_FORMAT) and context.has(_VALUE_FORMAT)
    if both:
        raise context.refuse("'format' and 'value.format' are the same option: set one of them.")
    return "value.format" if context.has(_VALUE_FORMAT) else "format"


def _source(
    context: TableContext,
    columns: _Columns,
    key: Any,
    value: Any,
    start: KafkaOffsetsInitializer,
    upsert: bool,
) -> ScanSource:
    builder = KafkaSource.builder().set_value_only_deserializer(ByteArraySchema())
    builder.set_properties(prefixed(context.options, "properties."))
    builder.set_property("partition.discovery.interval.ms", str(context.read(_DISCOVERY)))
    builder.set_starting_offsets(start)
    _subscribe(context, builder)
    bounded = context.read(_BOUNDED)
    if bounded != "unbounded":
        given = (context.read(_BOUNDED_TIME), context.read(_BOUNDED_OFFSETS))
        builder.set_bounded(_offsets(context, "scan.bounded", bounded, *given))
    row_type = columns.row_type
    metadata = tuple(one.metadata_key or one.name for one in context.metadata)
    for column, name in zip(context.metadata, metadata, strict=True):
        row_type = row_type.add(column.name, METADATA[name])
    places = columns.key_places() if upsert else columns.places()
    decoder = RecordColumns(row_type, key, value, places, metadata, upsert)
    source = KafkaRows(builder.build(), decoder)
    assert source.changelog is not None
    return ScanSource(source, row_type, source.changelog)


def _subscribe(context: TableContext, builder: KafkaSourceBuilder) -> None:
    topics, pattern = context.read(_TOPIC), context.options.get("topic-pattern")
    if bool(topics) == (pattern is not None):
        raise context.refuse("it needs either 'topic' or 'topic-pattern'.")
    if pattern is not None:
        builder.set_topic_pattern(pattern)
    else:
        builder.set_topics(*topics)


def _offsets(
    context: TableContext, key: str, mode: str, millis: int | None, specific: str
) -> KafkaOffsetsInitializer:
    if mode == "earliest-offset":
        return KafkaOffsetsInitializer.earliest()
    if mode == "latest-offset":
        return KafkaOffsetsInitializer.latest()
    if mode == "timestamp":
        if millis is None:
            raise context.refuse(f"'{key}.mode' = 'timestamp' needs '{key}.timestamp-millis'.")
        return KafkaOffsetsInitializer.timestamp(millis)
    if mode == "specific-offsets":
        return KafkaOffsetsInitializer.offsets(_specific(context, key, specific))
    reset = context.options.get("properties.auto.offset.reset", "none").upper()
    if reset not in KafkaOffsetResetStrategy.__members__:
        raise context.refuse(
            f"'properties.auto.offset.reset' is {reset.lower()!r}; it must be earliest, latest or "
            "none."
        )
    return KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy[reset])


def _specific(context: TableContext, key: str, text: str) -> dict[KafkaTopicPartition, int]:
    topics = context.read(_TOPIC)
    found: dict[KafkaTopicPartition, int] = {}
    try:
        for part in text.split(";"):
            fields = dict(pair.split(":") for pair in part.split(","))
            place = KafkaTopicPartition(topics[0], int(fields["partition"]))
            found[place] = int(fields["offset"])
    except (ValueError, KeyError, IndexError):
        raise context.refuse(
            f"'{key}.specific-offsets' is {text!r}; it is written as "
            "'partition:0,offset:42;partition:1,offset:300'."
        ) from None
    return found


def _records(
    context: TableContext, columns: _Columns, key: Any, value: Any, upsert: bool
) -> RowRecords:
    written = context.schema.to_sink_row_data_type().field_names()
    metadata = [
        (one.metadata_key or one.name, written.index(one.name))
        for one in context.metadata
        if one.is_persisted()
    ]
    topics = context.read(_TOPIC)
    if len(topics) != 1:
        raise context.refuse("a sink needs exactly one 'topic'.")
    return RowRecords(
        topics[0],
        value,
        tuple(written.index(name) for name in columns.values),
        key,
        tuple(written.index(name) for name in columns.keys),
        tuple(metadata),
        upsert,
    )


def _sink(context: TableContext, records: RowRecords, changelog: ChangelogMode) -> TableSink:
    guarantee = DeliveryGuarantee[context.read(_GUARANTEE).upper().replace("-", "_")]
    builder = KafkaSink.builder().set_delivery_guarantee(guarantee)
    builder.set_record_serializer(_schema(records.topic))
    for key, value in prefixed(context.options, "properties.").items():
        builder.set_property(key, value)
    prefix = context.read(_TRANSACTIONS)
    if guarantee is DeliveryGuarantee.EXACTLY_ONCE:
        if prefix is None:
            raise context.refuse(
                "'sink.delivery-guarantee' = 'exactly-once' needs 'sink.transactional-id-prefix'."
            )
        builder.set_transactional_id_prefix(prefix)
    sink = KafkaRowSink(builder.build(), records)
    row_type = context.schema.to_sink_row_data_type()
    parallelism = parallelism_of(context)
    return TableSink(sink, row_type, changelog, context.primary_key, parallelism)


def _schema(topic: str) -> KafkaRecordSerializationSchema:
    builder = KafkaRecordSerializationSchema.builder().set_topic(topic)
    return builder.set_value_serialization_schema(ByteArraySchema()).build()
