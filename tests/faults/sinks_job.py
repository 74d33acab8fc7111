"""The job that is killed between servers: Kafka -> keyed count -> Kafka, Postgres and files.

``python -m tests.faults.sinks_job ROOT MASTER SERVERS INPUT OUTPUT DSN [JARS]`` runs it until the
file ``stop`` appears in ``ROOT``; with jars, Spark's own connector reads. Every event has a key and
a number; the result adds how many events of that key there have been, so a result tells whether
state was lost or counted twice, too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.faults.running import run_until_stopped
from tests.faults.sleepers import LEASE

from scurry.common import Configuration, RestartStrategies, Row, Types, WatermarkStrategy
from scurry.common.fault_points import VARIABLE
from scurry.common.serialization import Encoder
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.connectors.base import DeliveryGuarantee
from scurry.datastream.connectors.file_system import FileSink, RollingPolicy
from scurry.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from scurry.datastream.connectors.postgres import PostgresSink
from scurry.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from scurry.datastream.state import ValueStateDescriptor

COLUMNS = ["key", "number", "count"]
EVENT = Types.ROW_NAMED(COLUMNS[:2], [Types.INT(), Types.INT()])
COUNTED = Types.ROW_NAMED(COLUMNS, [Types.INT(), Types.INT(), Types.INT()])
#: Part files are finished while the job runs, and hold the records of several micro-batches.
PART_BYTES = 20_000


class Count(KeyedProcessFunction):
    """Numbers the events of each key."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield Row(value["key"], value["number"], count)


def source(servers: str, topic: str, staging: Path | None) -> KafkaSource:
    builder = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(topic)
        .set_group_id(f"{topic}-readers")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(
            JsonRowDeserializationSchema.builder().type_info(EVENT).build()
        )
    )
    return (builder if staging is None else builder.set_spark_reader(str(staging))).build()


def kafka_sink(servers: str, topic: str) -> KafkaSink:
    values = JsonRowSerializationSchema.builder().with_type_info(COUNTED).build()
    records = KafkaRecordSerializationSchema.builder().set_topic(topic)
    return (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_record_serializer(records.set_value_serialization_schema(values).build())
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(topic)
        .build()
    )


def file_sink(directory: Path) -> FileSink:
    policy = RollingPolicy.default_rolling_policy(PART_BYTES)
    encoder = Encoder.simple_string_encoder()
    return FileSink.for_row_format(str(directory), encoder).with_rolling_policy(policy).build()


def main(
    root: Path, master: str, servers: str, source_topic: str, topic: str, dsn: str, jars: str = ""
) -> None:
    """Run the job until it is to stop."""
    settings = {
        "spark.master": master,
        "execution.checkpointing.dir": str(root / "checkpoint"),
        "scurry.checkpoint.lease-duration": LEASE,
        "scurry.state.local-dir": str(root / "local"),
        "scurry.batch.max-records": "2000",
        "scurry.state.compact-above": "4000",
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        f"spark.executorEnv.{VARIABLE}": os.environ.get(VARIABLE, ""),
    }
    if jars:
        settings["spark.jars"] = jars
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.of(settings))
    env.set_parallelism(2)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1000, 50))
    topics = source(servers, source_topic, root / "staging" if jars else None)
    events = env.from_source(topics, WatermarkStrategy.no_watermarks(), "events").uid("events")
    counted = events.key_by(lambda event: event["key"]).process(Count()).uid("count")
    counted.sink_to(kafka_sink(servers, topic)).uid("kafka")
    counted.sink_to(PostgresSink.append(dsn, "counted", COLUMNS)).uid("postgres")
    lines = counted.map(lambda row: " ".join(map(str, row)))
    lines.sink_to(file_sink(root / "files")).uid("files")
    env.on_progress(report)
    run_until_stopped(env, root, "sinks under fault")


def report(progress: Any) -> None:
    for wait in progress.waiting:
        print(wait, flush=True)
    print("batch", progress.batch, progress.restarts, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
