"""Where reading a topic begins, and where it ends."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from scurry.common.errors import ConfigurationError
from scurry.connectors.kafka.client import make

__all__ = ["KafkaOffsetResetStrategy", "KafkaOffsetsInitializer", "KafkaTopicPartition"]


@dataclass(frozen=True, order=True)
class KafkaTopicPartition:
    """One partition of a topic."""

    topic: str
    partition: int

    @property
    def label(self) -> str:
        """The name of the source partition, such as ``orders-3``."""
        return f"{self.topic}-{self.partition}"


class KafkaOffsetResetStrategy(Enum):
    """What to do where the wanted offset does not exist."""

    LATEST = 0
    EARLIEST = 1
    NONE = 2


@dataclass(frozen=True)
class KafkaOffsetsInitializer:
    """A way to find an offset for each partition; made by its static methods."""

    kind: str
    reset: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST
    at: int = 0
    specific: dict[KafkaTopicPartition, int] = field(default_factory=dict)

    def __str__(self) -> str:
        chosen = {partition.label: offset for partition, offset in sorted(self.specific.items())}
        return f"{self.kind} {self.at} {chosen} {self.reset.name}"

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """The oldest record there is."""
        return KafkaOffsetsInitializer("earliest")

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """What comes after the newest record, at the moment the job starts."""
        return KafkaOffsetsInitializer("latest", KafkaOffsetResetStrategy.LATEST)

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """The first record with that timestamp (milliseconds) or a later one."""
        if not isinstance(timestamp, int) or isinstance(timestamp, bool) or timestamp < 0:
            raise ConfigurationError(
                f"KafkaOffsetsInitializer.timestamp takes milliseconds since 1970 as a whole "
                f"number, got {timestamp!r}."
            )
        return KafkaOffsetsInitializer("timestamp", KafkaOffsetResetStrategy.LATEST, timestamp)

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """Where the consumer group stands; needs a group id."""
        return KafkaOffsetsInitializer("committed", offset_reset_strategy)

    @staticmethod
    def offsets(
        offsets: dict[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """The offsets given; partitions that are not named go by the group, then by the
        strategy."""
        for partition, offset in offsets.items():
            whole = isinstance(offset, int) and not isinstance(offset, bool)
            if not isinstance(partition, KafkaTopicPartition) or not whole or offset < 0:
                raise ConfigurationError(
                    "KafkaOffsetsInitializer.offsets maps a KafkaTopicPartition to an offset from "
                    f"0 on, got {partition!r}: {offset!r}."
                )
        return KafkaOffsetsInitializer("specific", offset_reset_strategy, specific=dict(offsets))


Offsets = dict[KafkaTopicPartition, int]
#: How long brokers may take for an answer.
_SECONDS = 3.0
_REFRESH_SECONDS = 1.0


class OffsetLookup:
    """Asks the brokers for offsets, many partitions at a time."""

    def __init__(
        self, admin: Any, settings: dict[str, Any], group_id: str | None, read_committed: bool
    ) -> None:
        self._admin = admin
        self._settings = settings
        self._group_id = group_id
        self._read_committed = read_committed
        self._consumer: Any = None
        #: asks where partitions end
        self._watcher: Any = None

    def starting(
        self, initializer: KafkaOffsetsInitializer, partitions: list[KafkaTopicPartition]
    ) -> Offsets:
        """The same, for the start: an offset that the partition does not hold is replaced as the
        strategy says."""
        found = self.resolve(initializer, partitions)
        if initializer.kind not in ("specific", "committed"):
            return found
        low, high = self.earliest(partitions), self.latest(partitions)
        outside = [p for p in partitions if not low[p] <= found[p] <= high[p]]
        if outside and initializer.reset is KafkaOffsetResetStrategy.NONE:
            first = outside[0]
            raise ConfigurationError(
                f"{first.label} holds offsets {low[first]} to {high[first]}, not {found[first]}. "
                "Start within them, or give a strategy for such partitions."
            )
        other = low if initializer.reset is KafkaOffsetResetStrategy.EARLIEST else high
        return {**found, **{partition: other[partition] for partition in outside}}

    def resolve(
        self, initializer: KafkaOffsetsInitializer, partitions: list[KafkaTopicPartition]
    ) -> Offsets:
        """The offset that ``initializer`` means for each partition."""
        if initializer.kind == "earliest":
            return self.earliest(partitions)
        if initializer.kind == "latest":
            return self.latest(partitions)
        if initializer.kind == "timestamp":
            return self._first_since(initializer.at, partitions)
        known = {p: o for p, o in initializer.specific.items() if p in partitions}
        rest = [p for p in partitions if p not in known]
        known.update(self.committed(rest))
        rest = [p for p in rest if p not in known]
        if rest and initializer.reset is KafkaOffsetResetStrategy.NONE:
            raise ConfigurationError(
                f"There is no committed offset for {', '.join(p.label for p in rest)} in the "
                f"group {self._group_id!r}. Give committed_offsets(...) a strategy for such "
                "partitions, or start elsewhere."
            )
        if initializer.reset is KafkaOffsetResetStrategy.EARLIEST:
            known.update(self.earliest(rest))
        else:
            known.update(self.latest(rest))
        return known

    def earliest(self, partitions: list[KafkaTopicPartition]) -> Offsets:
        """The oldest offset of each."""
        from confluent_kafka.admin import OffsetSpec

        return self._list(partitions, OffsetSpec.earliest())

    def latest(self, partitions: list[KafkaTopicPartition]) -> Offsets:
        """The offset after the last record that may be read. Asked for every few milliseconds, and
        so not of the admin client, which takes twice the time."""
        from confluent_kafka import OFFSET_END, KafkaException, TopicPartition

        if not partitions:
            return {}
        if self._watcher is None:
            level = "read_committed" if self._read_committed else "read_uncommitted"
            group = self._group_id or "scurry"
            settings = {**self._settings, "group.id": group, "isolation.level": level}
            self._watcher = make("Consumer", settings)
        wanted = [TopicPartition(p.topic, p.partition, OFFSET_END) for p in partitions]
        found = self._watcher.offsets_for_times(wanted, timeout=_SECONDS)
        for place in found:
            if place.error is not None:
                raise KafkaException(place.error)
        return {KafkaTopicPartition(at.topic, at.partition): at.offset for at in found}

    def refresh(self) -> None:
        """Have the clients ask which partitions there are and who leads them. What they know may be
        old, and they would go by it for ever: they refuse partitions that have come into being
        since, and brokers that were started anew refuse the leaders' old epochs."""
        from confluent_kafka import KafkaException

        for client in (self._admin, self._watcher):
            if client is not None:
                with contextlib.suppress(KafkaException):
                    client.list_topics(timeout=_REFRESH_SECONDS)

    def _first_since(self, timestamp: int, partitions: list[KafkaTopicPartition]) -> Offsets:
        from confluent_kafka.admin import OffsetSpec

        found = self._list(partitions, OffsetSpec.for_timestamp(timestamp))
        late = self.latest([p for p in partitions if found[p] < 0])
        return {**found, **late}

    def _list(self, partitions: list[KafkaTopicPartition], spec: Any) -> Offsets:
        from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition

        if not partitions:
            return {}
        level = (
            IsolationLevel.READ_COMMITTED
            if self._read_committed
            else IsolationLevel.READ_UNCOMMITTED
        )
        wanted = {TopicPartition(p.topic, p.partition): spec for p in partitions}
        answers = self._admin.list_offsets(wanted, isolation_level=level, request_timeout=_SECONDS)
        try:
            found = {place: answer.result(2 * _SECONDS) for place, answer in answers.items()}
        except TimeoutError:
            # the client's own limit does not always hold
            error = KafkaError(KafkaError._TIMED_OUT, "no answer about offsets")
            raise KafkaException(error) from None
        return {
            KafkaTopicPartition(place.topic, place.partition): answer.offset
            for place, answer in found.items()
        }

    def committed(self, partitions: list[KafkaTopicPartition]) -> Offsets:
        """The group's offsets, for the partitions where it has any."""
        from confluent_kafka import TopicPartition

        if not partitions or not self._group_id:
            return {}
        places = [TopicPartition(p.topic, p.partition) for p in partitions]
        found = self._group().committed(places, timeout=_SECONDS)
        return {
            KafkaTopicPartition(at.topic, at.partition): at.offset for at in found if at.offset >= 0
        }

    def commit(self, offsets: Offsets) -> None:
        """Set the group's offsets, for those who watch it; does not wait for the answer."""
        from confluent_kafka import TopicPartition

        if offsets and self._group_id:
            places = [TopicPartition(p.topic, p.partition, o) for p, o in offsets.items()]
            self._group().commit(offsets=places, asynchronous=True)

    def _group(self) -> Any:
        """A consumer that never joins its group. The admin client could do the same, but librdkafka
        crashes when it asks for a group's offsets while the group's coordinator moves."""
        if self._consumer is None:
            self._consumer = make("Consumer", {**self._settings, "group.id": self._group_id})
        return self._consumer

    def close(self) -> None:
        """Wait for what is still under way."""
        for consumer in (self._consumer, self._watcher):
            if consumer is not None:
                consumer.close()
        self._consumer = self._watcher = None
