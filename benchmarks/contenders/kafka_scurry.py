"""Scurry: Kafka -> keyed count -> Kafka, until it is ended or has read all there is."""

from __future__ import annotations

import json
import time
from typing import Any

from benchmarks.contenders._kafka_options import arguments
from benchmarks.contenders._kafka_program import build
from scurry.common import Configuration
from scurry.datastream import StreamExecutionEnvironment


def main() -> None:
    """Run the job."""
    options = arguments()
    settings = {"execution.checkpointing.dir": f"{options.work}/checkpoint"}
    settings.update(option.split("=", 1) for option in options.option)
    if options.records_per_batch:
        settings["scurry.batch.max-records"] = str(options.records_per_batch)
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.of(settings))
    env.set_parallelism(options.parallelism)
    build(env, options)
    with open(f"{options.work}/phases.jsonl", "w") as phases:

        def note(progress: Any) -> None:
            line = {"at": time.time(), "events": progress.total("read:"), **progress.phases}
            phases.write(json.dumps(line) + "\n")
            phases.flush()

        env.on_progress(note)
        env.execute("kafka benchmark")


if __name__ == "__main__":
    main()
