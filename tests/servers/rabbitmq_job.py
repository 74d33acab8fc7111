"""The job that is killed: RabbitMQ -> keyed count -> files and RabbitMQ.

``python -m tests.servers.rabbitmq_job ROOT URI INPUT OUTPUT`` runs it until the file ``stop``
appears in ``ROOT``. Messages are numbers; results are ``<number> <count>``, the count being how
many messages of that number's key there have been.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.faults.running import run_until_stopped

from scurry.common import Configuration, SimpleStringSchema
from scurry.common.serialization import Encoder
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.connectors.file_system import FileSink, RollingPolicy
from scurry.datastream.connectors.rabbitmq import RMQConnectionConfig, RMQSink, RMQSource
from scurry.datastream.state import ValueStateDescriptor

KEYS = 7


class Count(KeyedProcessFunction):
    """Numbers the messages of each key."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count"))

    def process_element(self, value: str, ctx: Any) -> Iterable[str]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value} {count}"


def main(root: Path, uri: str, source: str, target: str) -> None:
    """Run the job until it is to stop."""
    settings = {
        "spark.master": "local[2]",
        "execution.checkpointing.dir": str(root / "checkpoint"),
        "scurry.batch.max-records": "40",
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.of(settings))
    env.set_parallelism(2)
    config = RMQConnectionConfig.Builder().set_uri(uri).build()
    numbers = env.add_source(RMQSource(config, source, True, SimpleStringSchema()))
    counted = numbers.key_by(lambda number: int(number) % KEYS).process(Count())
    policy = RollingPolicy.on_checkpoint_rolling_policy()
    files = FileSink.for_row_format(str(root / "files"), Encoder.simple_string_encoder())
    counted.sink_to(files.with_rolling_policy(policy).build())
    counted.add_sink(RMQSink(config, target, SimpleStringSchema()))
    env.on_progress(lambda progress: print(f"batch {progress.batch} 0", flush=True))
    run_until_stopped(env, root, "rabbitmq under fault")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
