"""Kafka -> list, read by Spark's own connector: SERVERS TOPIC STAGING CHECKPOINTS JARS."""

from __future__ import annotations

import json
import sys
from typing import Any

from scurry.common import Configuration, WatermarkStrategy
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecord,
    KafkaRecordDeserializationSchema,
    KafkaSource,
)


class Everything(KafkaRecordDeserializationSchema):
    """All there is to know of a record."""

    def deserialize(self, record: KafkaRecord) -> Any:
        headers = [[name, value and value.decode()] for name, value in record.headers]
        key, value = (part and part.decode() for part in (record.key, record.value))
        return record.partition, record.offset, record.timestamp, key, value, headers


def main() -> None:
    servers, topic, staging, checkpoints, jars = sys.argv[1:]
    settings = {
        "spark.jars": jars,
        "execution.checkpointing.dir": checkpoints,
        "scurry.batch.max-records": "150",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.of(settings))
    env.set_parallelism(2)
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(topic)
        .set_group_id("through-spark")
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_deserializer(Everything())
        .set_spark_reader(staging)
        .build()
    )
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
    with stream.execute_and_collect() as results:
        for result in results:
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
