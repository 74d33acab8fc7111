"""Reading with Spark's own Kafka connector, where it is on the class path.

The driver plans a micro-batch as it always does. Then it has Spark read exactly the planned offsets
as a batch query and write the records to a directory that driver and workers share; only when they
are there does the plan become valid. Workers read the files instead of asking the brokers. The
files of a micro-batch are deleted when it is durable, so a batch that is run again finds them.

That costs a Spark job and a way over the disk for each micro-batch. It is for clusters whose
brokers the workers can only reach through the JVM's client.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scurry.common.errors import ConfigurationError, JobError
from scurry.common.hadoop_paths import hadoop_path
from scurry.connectors.kafka.client import FLINK_KEYS, Patience
from scurry.functions.source import Json, ReadPlan, ReadRange, SourceEnumerator

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PREFIX = "scurry-reads-"
_CHUNK = 50_000
#: Files that a crash has left behind are deleted after a week.
_OLD_SECONDS = 7 * 86_400.0
#: Settings that Spark's connector keeps to itself.
_SPARKS_OWN = frozenset(
    {
        "group.id",
        "auto.offset.reset",
        "enable.auto.commit",
        "key.deserializer",
        "value.deserializer",
        "interceptor.classes",
    }
)
_COLUMNS = (
    "topic",
    "partition",
    "offset",
    "key",
    "value",
    "headers",
    "CASE WHEN timestampType < 0 THEN NULL ELSE unix_millis(timestamp) END AS time",
)
#: What the Java client says about brokers that are away.
_PASSING = ("TimeoutException", "DisconnectException", "NotLeaderOrFollower")


class SparkReads:
    """Has Spark read ranges of offsets into files. Settings may be secrets: they neither show nor
    leave the driver."""

    def __init__(
        self, staging: str, properties: Mapping[str, str], options: Mapping[str, str]
    ) -> None:
        self.staging = Path(staging.removeprefix("file://"))
        self._staged: set[Path] = set()
        given = {k: v for k, v in properties.items() if k not in FLINK_KEYS | _SPARKS_OWN}
        self._options = {
            "kafka.isolation.level": "read_committed",
            **{f"kafka.{key}": str(value) for key, value in given.items()},
            **options,
            "includeHeaders": "true",
        }

    def __getstate__(self) -> dict[str, Any]:
        return {"staging": self.staging, "_options": {}, "_staged": set()}

    def check(self) -> None:
        """Fails where Spark has no Kafka connector."""
        from pyspark.errors import AnalysisException, PySparkException

        try:
            _session().read.format("kafka").load()
        except AnalysisException as failure:
            if "kafka" in str(failure).lower():
                raise ConfigurationError(
                    "set_spark_reader needs Spark's Kafka connector, and this session has none on "
                    "its class path. Give spark.jars the files of spark-sql-kafka-0-10_2.13, "
                    "spark-token-provider-kafka-0-10_2.13, kafka-clients and commons-pool2 (the "
                    "how-to on Kafka says which versions), or leave set_spark_reader out: without "
                    "it no jar is needed."
                ) from None
            raise
        except PySparkException:
            # it is there, and wants to be told what to read
            pass

    def stage(self, ranges: list[ReadRange], fail_on_data_loss: bool) -> list[ReadRange]:
        """Have the ranges read; the same, with where their records are."""
        place = self.staging / f"{_PREFIX}{uuid.uuid4().hex}"
        self._staged.add(place)
        bounds: dict[str, dict[str, dict[str, int]]] = {"startingOffsets": {}, "endingOffsets": {}}
        assigned: dict[str, list[int]] = {}
        for topic, partition, start, end in (item.what for item in ranges):
            assigned.setdefault(topic, []).append(partition)
            bounds["startingOffsets"].setdefault(topic, {})[str(partition)] = start
            bounds["endingOffsets"].setdefault(topic, {})[str(partition)] = end
        reader = _session().read.format("kafka").options(**self._options)
        for name, offsets in bounds.items():
            reader = reader.option(name, json.dumps(offsets))
        frame = (
            reader.option("assign", json.dumps(assigned))
            .option("failOnDataLoss", str(fail_on_data_loss).lower())
            .load()
        )
        frame.selectExpr(*_COLUMNS).write.partitionBy("topic", "partition").parquet(
            hadoop_path(place)
        )
        return [ReadRange(item.partition, [*item.what, str(place)]) for item in ranges]

    def forget(self) -> None:
        """Delete what has been read: all of it is durable. Another job may have files in the same
        place, so what this run has not written goes only when it is old."""
        old = time.time() - _OLD_SECONDS
        for place in self.staging.glob(f"{_PREFIX}*"):
            with contextlib.suppress(FileNotFoundError):
                if place in self._staged or place.stat().st_mtime < old:
                    shutil.rmtree(place, ignore_errors=True)
        self._staged.clear()


def _session() -> SparkSession:
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    session: SparkSession = builder.getOrCreate()
    return session


class StagingEnumerator(SourceEnumerator):
    """An enumerator of Kafka whose plans have their records with them."""

    def __init__(
        self, inner: SourceEnumerator, reads: SparkReads, servers: str, fail_on_data_loss: bool
    ) -> None:
        self._inner = inner
        self._reads = reads
        self._patience = Patience(servers, "have Spark read a micro-batch")
        self._fail_on_data_loss = fail_on_data_loss

    def initial_position(self) -> Json:
        return self._inner.initial_position()

    def plan(self, position: Json, max_records: int) -> ReadPlan:
        plan = self._inner.plan(position, max_records)
        if not plan.ranges:
            return plan
        try:
            ranges = self._reads.stage(plan.ranges, self._fail_on_data_loss)
        except Exception as failure:
            text = str(failure)
            if not any(sign in text for sign in _PASSING):
                raise JobError(
                    f"Spark's Kafka connector could not read: {_line(text)}"
                ) from failure
            self._patience.waiting(_line(text))
            return ReadPlan(position)
        self._patience.over()
        return ReadPlan(plan.position, ranges, plan.finished, plan.ended)

    def goes_on(self, position: Json, bounded: bool) -> bool:
        return self._inner.goes_on(position, bounded)

    def partitions(self) -> list[str]:
        return self._inner.partitions()

    def committed(self, position: Json) -> None:
        self._inner.committed(position)
        self._reads.forget()

    def observed(self, records: int, bytes_read: int) -> None:
        self._inner.observed(records, bytes_read)

    def gauges(self) -> dict[str, int]:
        return self._inner.gauges()

    def close(self) -> None:
        self._inner.close()


def _line(text: str) -> str:
    """The line of a Java stack trace that says what was the matter."""
    lines = text.strip().splitlines() or ["no reason given"]
    causes = [line for line in lines if line.startswith(("Caused by: ", ": "))]
    return (causes or lines)[-1].removeprefix("Caused by: ").removeprefix(": ")


class StagedMessage:
    """A record out of a file, with the methods of a message of the client's."""

    __slots__ = ("_fields",)

    def __init__(self, *fields: Any) -> None:
        self._fields = fields

    def topic(self) -> str:
        """The record's topic."""
        return str(self._fields[0])

    def partition(self) -> int:
        """The number of its partition."""
        return int(self._fields[1])

    def offset(self) -> int:
        """Its offset there."""
        return int(self._fields[2])

    def key(self) -> bytes | None:
        """Its key, if it has one."""
        key: bytes | None = self._fields[3]
        return key

    def value(self) -> bytes | None:
        """Its value; None for a tombstone."""
        value: bytes | None = self._fields[4]
        return value

    def headers(self) -> list[tuple[str, bytes | None]]:
        """Its headers, in order."""
        return [(header["key"], header["value"]) for header in self._fields[5] or ()]

    def timestamp(self) -> tuple[int, int]:
        """Whether it has a timestamp, and the timestamp."""
        time = self._fields[6]
        return (0, -1) if time is None else (1, time)

    def __len__(self) -> int:
        return len(self._fields[4] or b"")


def read_staged(what: Json) -> Iterator[list[StagedMessage]]:
    """The records of a range that Spark has read, in chunks."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    topic, partition, _, _, place = what
    root = Path(place)
    if not (root / "_SUCCESS").exists():
        raise JobError(
            f"The records of this micro-batch should be in {place}, and are not. The directory "
            "given to set_spark_reader must be on a file system that driver and workers share, "
            "and nobody else may delete from it."
        )
    files = sorted((root / f"topic={topic}" / f"partition={partition}").glob("*.parquet"))
    if not files:
        return
    table = pa.concat_tables([pq.ParquetFile(file).read() for file in files]).sort_by("offset")
    for at in range(0, table.num_rows, _CHUNK):
        part = table.slice(at, _CHUNK).to_pydict()
        columns = (part[name] for name in ("offset", "key", "value", "headers", "time"))
        yield [StagedMessage(topic, partition, *fields) for fields in zip(*columns, strict=True)]
