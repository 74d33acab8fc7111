"""PyFlink: the same job with Flink's own Kafka connector, a checkpoint every second.

With exactly once results become visible with the checkpoint they belong to. Python runs in threads
of the JVM, which is where PyFlink's latency is lowest.
"""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

from pyflink.common import Configuration
from pyflink.datastream import StreamExecutionEnvironment

from benchmarks.contenders._kafka_options import arguments
from benchmarks.contenders._kafka_program import build


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
    build(env, options)
    env.execute("kafka benchmark")


if __name__ == "__main__":
    main()
