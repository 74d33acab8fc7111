"""``KafkaSource`` and its builder, with the names PyFlink has for them."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from scurry.common.errors import ConfigurationError, ProgramError
from scurry.common.options import execution
from scurry.common.serialization import DeserializationSchema
from scurry.common.type_information import TypeInformation
from scurry.connectors.kafka.client import ClientSettings
from scurry.connectors.kafka.enumerator import KafkaEnumerator, ReadSettings, Subscription
from scurry.connectors.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from scurry.connectors.kafka.reader import forget_reader, reader_of
from scurry.connectors.kafka.record import (
    DEAD_LETTER,
    FAIL,
    SKIP,
    KafkaRecordDeserializationSchema,
    RecordDecoder,
    ValueOnly,
)
from scurry.connectors.kafka.spark_reader import SparkReads, StagingEnumerator, read_staged
from scurry.functions.dead_letters import DEAD_LETTERS
from scurry.functions.source import Json, Source, SourceBatch, SourceEnumerator

__all__ = ["KafkaSource", "KafkaSourceBuilder"]


class KafkaSource(Source):
    """Reads topics; each topic partition is a partition of the source, in order.

    Reading is exactly-once: the offsets of a micro-batch are fixed before it is read. Records of
    open and aborted transactions are not read. A record's timestamp is the element's, until a
    watermark strategy assigns another.
    """

    def __init__(
        self,
        client: ClientSettings,
        settings: ReadSettings,
        schema: DeserializationSchema | KafkaRecordDeserializationSchema,
        *,
        bounded: bool,
        bad_records: str = FAIL,
        fail_on_data_loss: bool = True,
        spark: SparkReads | None = None,
    ) -> None:
        self._client = client
        self._spark = spark
        self._settings = settings
        self._schema = schema
        self._decoder = RecordDecoder(schema, bad_records)
        self._fail_on_data_loss = fail_on_data_loss
        self.bounded = bounded
        self._often = False
        if isinstance(schema, DeserializationSchema):
            self.changelog = schema.changelog
            self.columnar = schema.columns_schema() is not None
        if bad_records == DEAD_LETTER:
            self.side_outputs = (DEAD_LETTERS,)

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """A builder without settings."""
        return KafkaSourceBuilder()

    @property
    def type_info(self) -> TypeInformation | None:
        return self._schema.get_produced_type()

    def take_engine(self, engine: str) -> None:
        self._often = engine == execution.LIVE

    @property
    def needs_slot(self) -> bool:
        return self._spark is not None

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        enumerator = KafkaEnumerator(self._client, self._settings)
        if self._spark is None:
            return enumerator
        self._spark.check()
        servers = self._client.servers
        return StagingEnumerator(enumerator, self._spark, servers, self._fail_on_data_loss)

    def read(self, what: Json) -> Iterator[SourceBatch]:
        if self._spark is not None:
            yield from map(self._decoder.decode, read_staged(what))
            return
        topic, partition, start, end = what
        reader = reader_of(self._client, topic, partition, self._often)
        try:
            for messages in reader.read(start, end, self._fail_on_data_loss):
                yield self._decoder.decode(messages)
        except BaseException:
            forget_reader(self._client, topic, partition)
            raise

    def __repr__(self) -> str:
        return f"KafkaSource({self._settings.subscription!r} at {self._client.servers!r})"


class WrappedKafkaSource(Source):
    """A :class:`KafkaSource` under another name."""

    @property
    @abstractmethod
    def _source(self) -> KafkaSource:
        """What it is."""

    @property
    def position_form(self) -> str:
        return self._source.position_form

    @property
    def type_info(self) -> TypeInformation | None:
        return self._source.type_info

    def take_engine(self, engine: str) -> None:
        self._source.take_engine(engine)

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return self._source.enumerator(parallelism)

    def read(self, what: Json) -> Iterator[SourceBatch]:
        return self._source.read(what)


class KafkaSourceBuilder:
    """Makes a :class:`KafkaSource`: bootstrap servers, topics and a deserializer are needed."""

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._subscription: Subscription | None = None
        self._starting = KafkaOffsetsInitializer.earliest()
        self._stopping: KafkaOffsetsInitializer | None = None
        self._bounded = False
        self._schema: DeserializationSchema | KafkaRecordDeserializationSchema | None = None
        self._bad_records = FAIL
        self._fail_on_data_loss = True
        self._max_records: int | None = None
        self._max_bytes = 128 << 20
        self._staging: tuple[str, dict[str, str]] | None = None

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """The brokers to ask first, ``host:port`` separated by commas."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """The consumer group that shows the job's progress."""
        return self.set_property("group.id", group_id)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """Read these topics."""
        if not topics or not all(isinstance(topic, str) and topic for topic in topics):
            raise ProgramError(f"set_topics takes names of topics, got {topics!r}.")
        return self._subscribe(Subscription(topics=tuple(dict.fromkeys(topics))))

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """Read all topics whose whole name matches a regular expression."""
        try:
            re.compile(topic_pattern)
        except re.error as wrong:
            raise ProgramError(
                f"set_topic_pattern got {topic_pattern!r}, which is no regular expression: {wrong}"
            ) from None
        return self._subscribe(Subscription(pattern=topic_pattern))

    def set_partitions(self, partitions: set[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """Read just these partitions."""
        if not partitions or not all(isinstance(p, KafkaTopicPartition) for p in partitions):
            raise ProgramError(f"set_partitions takes KafkaTopicPartitions, got {partitions!r}.")
        return self._subscribe(Subscription(partitions=tuple(sorted(partitions))))

    def _subscribe(self, subscription: Subscription) -> KafkaSourceBuilder:
        if self._subscription is not None:
            raise ProgramError(
                "A KafkaSource reads topics, a topic pattern or partitions: call only one of "
                "set_topics, set_topic_pattern and set_partitions, and only once."
            )
        self._subscription = subscription
        return self

    def set_starting_offsets(
        self, starting_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Where a job without history begins; without it, at the oldest record."""
        self._starting = _initializer(starting_offsets_initializer, "set_starting_offsets")
        return self

    def set_unbounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Stop at those offsets, but run as a stream."""
        self._bounded = False
        self._stopping = _initializer(stopping_offsets_initializer, "set_unbounded")
        return self

    def set_bounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """End when those offsets are reached; they are determined when the job first starts
        with them."""
        self._bounded = True
        self._stopping = _initializer(stopping_offsets_initializer, "set_bounded")
        return self

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema
    ) -> KafkaSourceBuilder:
        """Make elements of the records' values; records without a value are passed over."""
        if not isinstance(deserialization_schema, DeserializationSchema):
            raise ProgramError(
                f"set_value_only_deserializer takes a DeserializationSchema, got "
                f"{deserialization_schema!r}."
            )
        self._schema = deserialization_schema
        return self

    def set_deserializer(
        self, record_deserializer: KafkaRecordDeserializationSchema
    ) -> KafkaSourceBuilder:
        """Make elements of whole records: key, value, headers, topic, offset, timestamp."""
        if not isinstance(record_deserializer, KafkaRecordDeserializationSchema):
            raise ProgramError(
                f"set_deserializer takes a KafkaRecordDeserializationSchema, got "
                f"{record_deserializer!r}."
            )
        if isinstance(record_deserializer, ValueOnly):
            return self.set_value_only_deserializer(record_deserializer.schema)
        self._schema = record_deserializer
        return self

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """What the clients call themselves at the brokers."""
        return self.set_property("client.id", prefix)

    def set_property(self, key: str, value: str) -> KafkaSourceBuilder:
        """A setting of Kafka's client, such as ``security.protocol``."""
        self._properties[key] = value
        return self

    def set_properties(self, props: dict[str, str]) -> KafkaSourceBuilder:
        """Several settings of Kafka's client."""
        self._properties.update(props)
        return self

    def set_bad_records(self, policy: str) -> KafkaSourceBuilder:
        """What becomes of a record that cannot be decoded: ``"fail"`` ends the job, which is what
        happens unless told otherwise; ``"dead-letter"`` sends it to the side output
        ``DEAD_LETTERS``; ``"skip"`` forgets it."""
        if policy not in (FAIL, DEAD_LETTER, SKIP):
            raise ProgramError(
                f"set_bad_records takes 'fail', 'dead-letter' or 'skip', got {policy!r}."
            )
        self._bad_records = policy
        return self

    def set_fail_on_data_loss(self, fail: bool) -> KafkaSourceBuilder:
        """Whether the job ends when records it has not read yet are gone from the topic."""
        self._fail_on_data_loss = fail
        return self

    def set_max_records_per_batch(self, records: int) -> KafkaSourceBuilder:
        """The most records a micro-batch reads, if that is less than the job's own limit."""
        self._max_records = _positive(records, "set_max_records_per_batch")
        return self

    def set_max_bytes_per_batch(self, size: int) -> KafkaSourceBuilder:
        """About how many bytes a micro-batch reads at most; 128 MB without this."""
        self._max_bytes = _positive(size, "set_max_bytes_per_batch")
        return self

    def set_spark_reader(
        self, staging_path: str, options: dict[str, str] | None = None
    ) -> KafkaSourceBuilder:
        """Have Spark's own Kafka connector, which must be on the class path, read the records into
        ``staging_path``: a directory for this source alone, shared by driver and workers.
        ``options`` are more options of that connector, such as ``kafka.ssl.truststore.location``.
        What to read is still decided with the client that needs no jar."""
        if not isinstance(staging_path, str) or "://" in staging_path.removeprefix("file://"):
            raise ProgramError(
                "set_spark_reader takes a directory that driver and workers share under the same "
                f"path, got {staging_path!r}."
            )
        self._staging = (staging_path, dict(options or {}))
        return self

    def build(self) -> KafkaSource:
        """The source."""
        properties = self._properties
        if not properties.get("bootstrap.servers"):
            raise ProgramError("A KafkaSource needs brokers: call set_bootstrap_servers.")
        if self._subscription is None:
            raise ProgramError("A KafkaSource needs something to read: call set_topics.")
        if self._schema is None:
            raise ProgramError(
                "A KafkaSource needs to know how to read records: call "
                "set_value_only_deserializer, for example with SimpleStringSchema()."
            )
        wants_group = any(map(_needs_group, (self._starting, self._stopping)))
        if wants_group and not properties.get("group.id"):
            raise ProgramError("Committed offsets belong to a consumer group: call set_group_id.")
        client = ClientSettings(properties)
        return KafkaSource(
            client,
            self._read_settings(client),
            self._schema,
            bounded=self._bounded,
            bad_records=self._bad_records,
            fail_on_data_loss=self._fail_on_data_loss,
            spark=None if self._staging is None else self._spark_reads(*self._staging),
        )

    def _spark_reads(self, path: str, options: dict[str, str]) -> SparkReads:
        return SparkReads(path, self._properties, options)

    def _read_settings(self, client: ClientSettings) -> ReadSettings:
        assert self._subscription is not None
        interval = _milliseconds(self._properties, "partition.discovery.interval.ms", 300_000)
        commits = self._properties.get("commit.offsets.on.checkpoint", "true")
        return ReadSettings(
            self._subscription,
            self._starting,
            self._stopping,
            group_id=self._properties.get("group.id"),
            commit_offsets=str(commits).lower() == "true",
            read_committed=client.get("isolation.level", "read_committed") == "read_committed",
            discovery_seconds=interval / 1000 if interval > 0 else None,
            max_records=self._max_records,
            max_bytes=self._max_bytes,
        )


def _needs_group(initializer: KafkaOffsetsInitializer | None) -> bool:
    return (
        initializer is not None
        and initializer.kind == "committed"
        and initializer.reset is KafkaOffsetResetStrategy.NONE
    )


def _initializer(given: Any, method: str) -> KafkaOffsetsInitializer:
    if not isinstance(given, KafkaOffsetsInitializer):
        raise ProgramError(
            f"{method} takes offsets such as KafkaOffsetsInitializer.earliest(), got {given!r}."
        )
    return given


def _positive(number: Any, method: str) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise ProgramError(f"{method} takes a whole number from 1 on, got {number!r}.")
    return number


def _milliseconds(properties: dict[str, str], key: str, default: int) -> int:
    try:
        return int(properties.get(key, default))
    except ValueError:
        raise ConfigurationError(
            f"The property {key!r} is {properties[key]!r}; it takes milliseconds, or a number "
            "below 1 for never."
        ) from None
