"""Kafka -> keyed count -> Kafka, as a program of its own, to be killed and started again.

Arguments: servers, input topic, output topic, checkpoint directory, records per micro-batch,
and the offset of each partition at which to stop.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from scurry.common import Configuration, Row, Types, WatermarkStrategy
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.connectors.base import DeliveryGuarantee
from scurry.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicPartition,
)
from scurry.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from scurry.datastream.state import ValueStateDescriptor

EVENT = Types.ROW_NAMED(["key", "number"], [Types.INT(), Types.INT()])
COUNTED = Types.ROW_NAMED(["key", "number", "count"], [Types.INT(), Types.INT(), Types.INT()])


class Count(KeyedProcessFunction):
    """Numbers the events of each key."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield Row(value["key"], value["number"], count)


def main() -> None:
    servers, source_topic, sink_topic, checkpoints, records, *stops = sys.argv[1:]
    configuration = Configuration.of(
        {"execution.checkpointing.dir": checkpoints, "scurry.batch.max-records": records}
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration).set_parallelism(2)
    stop = {KafkaTopicPartition(source_topic, at): int(end) for at, end in enumerate(stops)}
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(source_topic)
        .set_group_id(f"{sink_topic}-readers")
        .set_unbounded(KafkaOffsetsInitializer.offsets(stop))
        .set_value_only_deserializer(
            JsonRowDeserializationSchema.builder().type_info(EVENT).build()
        )
        .build()
    )
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(sink_topic)
        .set_value_serialization_schema(
            JsonRowSerializationSchema.builder().with_type_info(COUNTED).build()
        )
        .build()
    )
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_record_serializer(serializer)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(sink_topic)
        .build()
    )
    events = env.from_source(source, WatermarkStrategy.no_watermarks(), "events").uid("events")
    counted = events.key_by(lambda event: event["key"]).process(Count()).uid("count")
    counted.sink_to(sink).uid("sink")
    env.on_progress(
        lambda progress: print(
            "batch",
            progress.batch,
            progress.records_read,
            f"{progress.last_seconds * 1000:.0f} ms",
            flush=True,
        )
    )
    print("started", flush=True)
    env.execute()
    print("finished", flush=True)


if __name__ == "__main__":
    main()
