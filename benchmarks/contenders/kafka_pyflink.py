"""PyFlink: the same job with Flink's own Kafka connector, exactly once, a checkpoint every second.

Results become visible with the checkpoint they belong to. Python runs in threads of the JVM, which
is where PyFlink's latency is lowest.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyflink.common import Configuration, Row, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.base import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from pyflink.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from pyflink.datastream.state import ValueStateDescriptor

from benchmarks.contenders._kafka_options import arguments

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
    # the interpreter inside the JVM finds its packages nowhere else
    os.environ["PYTHONPATH"] = os.pathsep.join((sysconfig.get_paths()["purelib"], os.getcwd()))
    settings = Configuration()
    for key, value in {
        "pipeline.jars": ";".join(Path(jar).as_uri() for jar in options.jars.split(",")),
        "python.execution-mode": "thread",
        "parallelism.default": "1",
        "state.backend.type": "rocksdb",
        "execution.checkpointing.interval": "1000 ms",
        "execution.checkpointing.dir": Path(options.work, "checkpoint").as_uri(),
        "pipeline.object-reuse": "true",
    }.items():
        settings.set_string(key, str(value))
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    builder = (
        KafkaSource.builder()
        .set_bootstrap_servers(options.servers)
        .set_topics(options.input)
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(
            JsonRowDeserializationSchema.builder().type_info(EVENT).build()
        )
    )
    if options.bounded:
        builder.set_bounded(KafkaOffsetsInitializer.latest())
    writes = JsonRowSerializationSchema.builder().with_type_info(COUNTED).build()
    records = KafkaRecordSerializationSchema.builder().set_topic(options.output)
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(options.servers)
        .set_record_serializer(records.set_value_serialization_schema(writes).build())
        .set_delivery_guarantee(DeliveryGuarantee[options.guarantee])
        .set_transactional_id_prefix(options.output)
        .set_property("transaction.timeout.ms", "600000")
        .build()
    )
    events = env.from_source(builder.build(), WatermarkStrategy.no_watermarks(), "events")
    keyed = events.key_by(lambda event: event[0], key_type=Types.LONG())
    keyed.process(Count(), output_type=COUNTED).sink_to(sink)
    env.execute("kafka benchmark")


if __name__ == "__main__":
    main()
