"""Kafka -> keyed count -> Kafka as a PyFlink program: one text, run by PyFlink and by Scurry.

Whoever imports this module after ``pyflink`` gets PyFlink's classes, any other Scurry's.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import Any

if "pyflink" in sys.modules:
    from pyflink.common import Row, Types, WatermarkStrategy
    from pyflink.datastream import KeyedProcessFunction
    from pyflink.datastream.connectors.base import DeliveryGuarantee
    from pyflink.datastream.connectors.kafka import (
        KafkaOffsetsInitializer,
        KafkaRecordSerializationSchema,
        KafkaSink,
        KafkaSource,
    )
    from pyflink.datastream.formats.json import (
        JsonRowDeserializationSchema,
        JsonRowSerializationSchema,
    )
    from pyflink.datastream.state import ValueStateDescriptor
else:
    from scurry.common import Row, Types, WatermarkStrategy
    from scurry.datastream import KeyedProcessFunction
    from scurry.datastream.connectors.base import DeliveryGuarantee
    from scurry.datastream.connectors.kafka import (
        KafkaOffsetsInitializer,
        KafkaRecordSerializationSchema,
        KafkaSink,
        KafkaSource,
    )
    from scurry.datastream.formats.json import (
        JsonRowDeserializationSchema,
        JsonRowSerializationSchema,
    )
    from scurry.datastream.state import ValueStateDescriptor

EVENT = Types.ROW_NAMED(["key", "sent"], [Types.LONG(), Types.LONG()])
COUNTED = Types.ROW_NAMED(["key", "sent", "count"], [Types.LONG(), Types.LONG(), Types.LONG()])


def build(env: Any, options: argparse.Namespace) -> None:
    """Put the job into ``env``."""

    class Count(KeyedProcessFunction):
        """Numbers the events of each key, with one read and one write of state for each."""

        def open(self, runtime_context: Any) -> None:
            self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            count = (self.count.value() or 0) + 1
            self.count.update(count)
            yield Row(value[0], value[1], count)

    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(options.servers)
        .set_topics(options.input)
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(
            JsonRowDeserializationSchema.builder().type_info(EVENT).build()
        )
    )
    if options.bounded:
        source.set_bounded(KafkaOffsetsInitializer.latest())
    writes = JsonRowSerializationSchema.builder().with_type_info(COUNTED).build()
    records = KafkaRecordSerializationSchema.builder().set_topic(options.output)
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(options.servers)
        .set_record_serializer(records.set_value_serialization_schema(writes).build())
        .set_delivery_guarantee(DeliveryGuarantee[options.guarantee])
        .set_transactional_id_prefix(options.output)
        # no more than brokers allow
        .set_property("transaction.timeout.ms", "600000")
        .build()
    )
    events = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "events")
    keyed = events.key_by(lambda event: event[0], key_type=Types.LONG())
    keyed.process(Count(), output_type=COUNTED).uid("count").sink_to(sink).uid("sink")
