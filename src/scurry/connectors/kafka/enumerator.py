"""What a micro-batch reads of Kafka: decided on the driver, from the brokers' end offsets.

The position of the source is the next offset of every partition. A plan takes from each partition
a share of what there is, so that the micro-batch stays below its limits of records and bytes; the
bytes are estimated from what earlier batches brought. A broker that does not answer is waited for:
there is simply nothing new until it does.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import Any

from scurry.common.errors import JobError
from scurry.connectors.kafka.client import ClientSettings, Patience, is_hopeless, log, make
from scurry.connectors.kafka.offsets import (
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
    OffsetLookup,
    Offsets,
)
from scurry.functions.source import LAG, Json, ReadPlan, ReadRange, SourceEnumerator

#: How long a new job waits for its first answer.
_FIRST_ANSWER_SECONDS = 30.0
_RETRY_SECONDS = 1.0
_SHRUNK_SECONDS = 60.0
#: The size of a record before any has been seen.
_GUESSED_BYTES = 1024.0


@dataclass(frozen=True)
class Subscription:
    """Which partitions to read: of named topics, of topics whose names match, or just these."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: tuple[KafkaTopicPartition, ...] = ()


@dataclass(frozen=True)
class ReadSettings:
    """How a source reads."""

    subscription: Subscription
    starting: KafkaOffsetsInitializer
    stopping: KafkaOffsetsInitializer | None = None
    group_id: str | None = None
    commit_offsets: bool = True
    read_committed: bool = True
    #: seconds between two looks for new partitions, None for never
    discovery_seconds: float | None = 300.0
    max_records: int | None = None
    max_bytes: int = 128 << 20


class KafkaEnumerator(SourceEnumerator):
    """The driver's half of a Kafka source."""

    def __init__(self, client: ClientSettings, settings: ReadSettings) -> None:
        self._settings = settings
        self._servers = client.servers
        self._patience = Patience(client.servers, "plan the next micro-batch")
        self._last_error: Any = None
        self._admin = make("AdminClient", {**client.with_defaults(), "error_cb": self._on_error})
        consumer = client.with_defaults(enable_auto_commit="false")
        consumer["error_cb"] = self._on_error
        self._lookup = OffsetLookup(
            self._admin, consumer, settings.group_id, settings.read_committed
        )
        self._known: list[KafkaTopicPartition] = []
        self._discovered = float("-inf")
        self._retry_at = 0.0
        self._record_bytes = _GUESSED_BYTES
        self._lag: Offsets = {}

    def _on_error(self, error: Any) -> None:
        self._last_error = error

    def partitions(self) -> list[str]:
        return [partition.label for partition in self._known]

    def initial_position(self) -> Json:
        from confluent_kafka import KafkaException

        deadline = time.monotonic() + _FIRST_ANSWER_SECONDS
        while True:
            try:
                return self._first_position()
            except KafkaException as failure:
                error = failure.args[0]
                if is_hopeless(error) or time.monotonic() > deadline:
                    reason = error if self._last_error is None else self._last_error
                    raise JobError(
                        f"Kafka at {self._servers} cannot be used: {reason.str()}. Check the "
                        "address and the security settings; `scurry doctor --kafka "
                        f"{self._servers}` says what it finds."
                    ) from failure
                self._patience.waiting(error.str())
                time.sleep(_RETRY_SECONDS)

    def _first_position(self) -> Json:
        self._discover()
        settings = self._settings
        start = self._lookup.starting(settings.starting, self._known)
        stop = None
        if settings.stopping is not None:
            stop = as_json(self._lookup.resolve(settings.stopping, self._known))
        self._patience.over()
        return {"next": as_json(start), "stop": stop, "bound": self._bound}

    @property
    def _bound(self) -> str | None:
        """What the program says about the end, in words."""
        return None if self._settings.stopping is None else str(self._settings.stopping)

    def _ends_as_before(self, position: Json) -> bool:
        """Whether the program says what it said when ``position`` was written. Earlier versions
        did not write that down, and took an end for granted once there was one."""
        before = self._bound if position["stop"] is not None else None
        return bool(position.get("bound", before) == self._bound)

    def goes_on(self, position: Json, bounded: bool) -> bool:
        return not self._ends_as_before(position)

    def _with_other_end(self, position: Json) -> Json:
        """``position`` with the end that the program says now, for what there is now."""
        following, stop = from_json(position["next"]), None
        if self._settings.stopping is not None:
            self._take_in(following, time.monotonic(), bounded=False)
            stop = as_json(self._lookup.resolve(self._settings.stopping, sorted(following)))
        return {"next": as_json(following), "stop": stop, "bound": self._bound}

    def plan(self, position: Json, max_records: int) -> ReadPlan:
        from confluent_kafka import KafkaException

        now = time.monotonic()
        if now < self._retry_at:
            return ReadPlan(position)
        try:
            if not self._ends_as_before(position):
                position = self._with_other_end(position)
            following = from_json(position["next"])
            stop = None if position["stop"] is None else from_json(position["stop"])
            if stop is not None and all(following[p] >= end for p, end in stop.items()):
                return ReadPlan(position, finished=True)
            self._take_in(following, now, bounded=stop is not None)
            ends = self._lookup.latest(sorted(following))
        except KafkaException as failure:
            error = failure.args[0]
            if is_hopeless(error):
                raise JobError(
                    f"Kafka at {self._servers} refuses to tell where its topics end: "
                    f"{error.str()}. Check the security settings of the source and the rights of "
                    f"its user; `scurry doctor --kafka {self._servers}` says what it finds."
                ) from failure
            self._patience.waiting(self._reason(error))
            self._lookup.refresh()
            self._retry_at = time.monotonic() + _RETRY_SECONDS
            return ReadPlan(position)
        if self._has_shrunk(following, ends):
            return ReadPlan(position)
        self._patience.over()
        if stop is not None:
            ends = {p: min(end, stop[p]) for p, end in ends.items() if p in stop}
        return self._share(following, ends, stop, max_records)

    def _reason(self, error: Any) -> str:
        """Why the brokers have not told where partitions end: without a connection the client only
        says that it does not know the partitions."""
        from confluent_kafka import KafkaError

        unknown = error.code() == KafkaError._UNKNOWN_PARTITION
        found = self._last_error if unknown and self._last_error is not None else error
        return str(found.str())

    def _has_shrunk(self, following: Offsets, ends: Offsets) -> bool:
        """Whether a partition ends before what has been read of it. A broker that has just been
        started may say so for a moment; if it goes on, the topic is not what it was."""
        for partition, end in ends.items():
            at = following[partition]
            if end < at:
                what = f"{partition.label} ends at offset {end}, but was read up to {at}"
                self._patience.waiting(what)
                if self._patience.waited > _SHRUNK_SECONDS:
                    raise JobError(
                        f"{what}: the topic has been truncated or made anew. Start the job from "
                        "an empty checkpoint directory."
                    )
                return True
        return False

    def _take_in(self, following: Offsets, now: float, bounded: bool) -> None:
        """Add to ``following`` the partitions that have come into being: from their beginning, so
        that nothing written before they were noticed is lost."""
        interval = self._settings.discovery_seconds
        due = interval is not None and now - self._discovered >= interval
        if self._known and not due:
            return
        if bounded:
            self._known = sorted(following)
            return
        self._discover()
        new = [partition for partition in self._known if partition not in following]
        if new:
            log.info("new partitions: %s", ", ".join(partition.label for partition in new))
            self._lookup.refresh()
            following.update(self._lookup.earliest(new))

    def _discover(self) -> None:
        wanted = self._settings.subscription
        if wanted.partitions:
            self._known = sorted(wanted.partitions)
            return
        topics = self._admin.list_topics(timeout=5).topics
        if wanted.pattern is not None:
            pattern = re.compile(wanted.pattern)
            names = [name for name in topics if pattern.fullmatch(name)]
        else:
            names = list(wanted.topics)
            missing = [name for name in names if name not in topics]
            if missing:
                raise JobError(
                    f"Kafka at {self._servers} has no topic {missing[0]!r}. Create it first, or "
                    "correct the name given to set_topics."
                )
        self._known = sorted(
            KafkaTopicPartition(name, number)
            for name in names
            for number in topics[name].partitions
        )
        self._discovered = time.monotonic()

    def _share(
        self, following: Offsets, ends: Offsets, stop: Offsets | None, max_records: int
    ) -> ReadPlan:
        limit = min(max_records, max(1, int(self._settings.max_bytes / self._record_bytes)))
        if self._settings.max_records is not None:
            limit = min(limit, self._settings.max_records)
        there = {p: ends[p] - at for p, at in following.items() if ends.get(p, 0) > at}
        total = sum(there.values())
        ranges, after = [], dict(following)
        for partition, count in there.items():
            taken = count if total <= limit else max(1, count * limit // total)
            start = following[partition]
            after[partition] = start + taken
            what = [partition.topic, partition.partition, start, start + taken]
            ranges.append(ReadRange(partition.label, what))
        self._lag = {p: max(0, end - after[p]) for p, end in ends.items()}
        done = stop is not None and all(after[p] >= end for p, end in stop.items())
        end = None if stop is None else as_json(stop)
        position = {"next": as_json(after), "stop": end, "bound": self._bound}
        return ReadPlan(position, ranges, finished=done)

    def observed(self, records: int, bytes_read: int) -> None:
        if records and bytes_read:
            self._record_bytes = max(1.0, (self._record_bytes + bytes_read / records) / 2)

    def gauges(self) -> dict[str, int]:
        each = {f"lag.{partition.label}": lag for partition, lag in self._lag.items()}
        return {LAG: sum(self._lag.values()), **each}

    def committed(self, position: Json) -> None:
        if self._settings.commit_offsets:
            self._lookup.commit(from_json(position["next"]))

    def close(self) -> None:
        self._lookup.close()


def as_json(offsets: Offsets) -> dict[str, dict[str, int]]:
    """Offsets by topic and partition."""
    found: dict[str, dict[str, int]] = {}
    for partition, offset in sorted(offsets.items()):
        found.setdefault(partition.topic, {})[str(partition.partition)] = offset
    return found


def from_json(content: dict[str, dict[str, int]]) -> Offsets:
    """The offsets behind :func:`as_json`'s form."""
    return {
        KafkaTopicPartition(topic, int(number)): offset
        for topic, numbers in content.items()
        for number, offset in numbers.items()
    }
