"""Scurry: Kafka -> keyed count -> Kafka, until it is ended or has read all there is."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any

from benchmarks.contenders._kafka_options import arguments
from scurry.common import Configuration, Row, Types, WatermarkStrategy
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.connectors.base import DeliveryGuarantee
from scurry.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from scurry.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from scurry.datastream.state import ValueStateDescriptor

EVENT = Types.ROW_NAMED(["key", "sent"], [Types.LONG(), Types.LONG()])
COUNTED = Types.ROW_NAMED(["key", "sent", "count"], [Types.LONG(), Types.LONG(), Types.LONG()])


class Count(KeyedProcessFunction):
    """Numbers the events of each key, with one read and one write of state for each."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield Row(value[0], value[1], count)


def main() -> None:
    """Run the job."""
    options = arguments()
    settings = {"execution.checkpointing.dir": f"{options.work}/checkpoint"}
    if options.records_per_batch:
        settings["scurry.batch.max-records"] = str(options.records_per_batch)
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.of(settings))
    env.set_parallelism(options.parallelism)
    builder = (
        KafkaSource.builder()
        .set_bootstrap_servers(options.servers)
        .set_topics(options.input)
        .set_value_only_deserializer(
            JsonRowDeserializationSchema.builder().type_info(EVENT).build()
        )
    )
    if options.bounded:
        builder.set_bounded(KafkaOffsetsInitializer.latest())
    writes = JsonRowSerializationSchema.builder().with_type_info(COUNTED).build()
    records = KafkaRecordSerializationSchema.builder().set_topic(options.output)
    guarantee = DeliveryGuarantee[options.guarantee]
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(options.servers)
        .set_record_serializer(records.set_value_serialization_schema(writes).build())
        .set_delivery_guarantee(guarantee)
        .set_transactional_id_prefix(options.output)
        .build()
    )
    events = env.from_source(builder.build(), WatermarkStrategy.no_watermarks(), "events")
    counted = events.key_by(lambda event: event[0]).process(Count()).uid("count")
    counted.sink_to(sink).uid("sink")
    with open(f"{options.work}/phases.jsonl", "w") as phases:

        def note(progress: Any) -> None:
            line = {"at": time.time(), "events": progress.total("read:"), **progress.phases}
            phases.write(json.dumps(line) + "\n")
            phases.flush()

        env.on_progress(note)
        env.execute("kafka benchmark")


if __name__ == "__main__":
    main()
