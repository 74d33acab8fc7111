"""A Kafka program of PyFlink, in which only the imports have changed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scurry.common import notes

PROGRAM = """
from pyflink.common import Configuration, Duration, Types, WatermarkStrategy
from pyflink.common.serialization import SimpleStringSchema
from pyflink.common.typeinfo import RowTypeInfo
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    CheckpointingMode,
    EmbeddedRocksDBStateBackend,
    ExternalizedCheckpointRetention,
    FileSystemCheckpointStorage,
    RuntimeExecutionMode,
    SlotSharingGroup,
    StreamExecutionEnvironment,
)
from pyflink.datastream.connectors.base import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from pyflink.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema
from pyflink.datastream.functions import KeyedProcessFunction, RuntimeContext
from pyflink.datastream.slot_sharing_group import MemorySize
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.datastream.state_backend import HashMapStateBackend, PredefinedOptions
from pyflink.datastream.window import TumblingEventTimeWindows


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        seen = (self.count.value() or 0) + 1
        self.count.update(seen)
        yield f"{ctx.get_current_key()} {seen}"


configuration = Configuration()
configuration.set_string("taskmanager.numberOfTaskSlots", "4")
configuration.set_string("python.fn-execution.bundle.size", "1000")
configuration.set_string("state.backend.rocksdb.memory.managed", "true")
env = StreamExecutionEnvironment.get_execution_environment(configuration)
env.add_jars("file:///opt/flink-sql-connector-kafka-4.0.1-2.0.jar")
env.add_classpaths("file:///opt/classes")
env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
env.set_parallelism(2).set_max_parallelism(64).set_buffer_timeout(50)
env.enable_checkpointing(10_000, CheckpointingMode.EXACTLY_ONCE)
config = env.get_checkpoint_config()
config.set_min_pause_between_checkpoints(500).set_checkpoint_timeout(60_000)
config.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
env.get_config().disable_closure_cleaner().set_auto_watermark_interval(100)
group = SlotSharingGroup.builder("io").set_cpu_cores(1.0).set_task_heap_memory(
    MemorySize.of_mebi_bytes(512)).build()
env.register_slot_sharing_group(group)

source = (
    KafkaSource.builder()
    .set_bootstrap_servers("localhost:9092")
    .set_topics("in")
    .set_group_id("ported")
    .set_starting_offsets(KafkaOffsetsInitializer.earliest())
    .set_value_only_deserializer(SimpleStringSchema())
    .build()
)
sink = (
    KafkaSink.builder()
    .set_bootstrap_servers("localhost:9092")
    .set_record_serializer(
        KafkaRecordSerializationSchema.builder()
        .set_topic("out")
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    .set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
    .build()
)
stream = env.from_source(
    source,
    WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5)),
    "Kafka Source",
).slot_sharing_group("io")
(
    stream.key_by(lambda text: text[:1], key_type=Types.STRING())
    .process(Count(), output_type=Types.STRING())
    .uid("count")
    .set_max_parallelism(64)
    .sink_to(sink)
    .slot_sharing_group("io")
    .name("Kafka Sink")
)
"""


def test_it_is_built_by_its_imports_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(notes, "_said", set())
    names: dict[str, Any] = {"__name__": "ported"}
    exec(compile(PROGRAM.replace("pyflink", "scurry"), "ported.py", "exec"), names)
    plan = json.loads(names["env"].describe_plan())
    assert [node["id"] for node in plan["nodes"]].count("count") == 1
    said = " ".join(record.getMessage() for record in caplog.records)
    for word in (
        "slot_sharing_group is accepted",
        "pipeline.jars is accepted",
        "taskmanager.numberOfTaskSlots",
        "python.fn-execution.bundle.size",
        "pipeline.closure-cleaner-level is accepted",
    ):
        assert said.count(word) == 1, word
