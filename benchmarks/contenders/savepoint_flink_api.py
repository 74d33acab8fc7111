"""A job with much state that a savepoint is taken of, and one that starts from it; the same program
for Scurry and for PyFlink.

One source counts up, and the keyed function keeps random bytes for each key, for ever. It appends a
line to a file for every hundred events, with the time, so that it can be told from outside how far
the job is and when it stood still. The first line of a job that starts from a savepoint says
whether the state of the key was there.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_LINE = 100
_SETTINGS = {
    "scurry": {"scurry.batch.max-records": "5000"},
    "pyflink": {
        "state.backend.type": "rocksdb",
        "execution.checkpointing.interval": "1 s",
        "execution.checkpointing.incremental": "true",
        "taskmanager.memory.managed.size": "1gb",
        "pipeline.object-reuse": "true",
        "python.metric.enabled": "false",
        "python.state.cache-size": "100000",
        "python.fn-execution.bundle.size": "1000",
        "restart-strategy.type": "none",
    },
}


def seen(work: Path) -> list[tuple[float, bool]]:
    """The times of all lines, and whether state was found by then."""
    lines = (line for path in work.glob("lines-*") for line in path.read_text().splitlines())
    return sorted((float(at), found == "True") for at, _, found in map(str.split, lines))


def program(package: str, options: argparse.Namespace) -> Any:
    """The environment with the job."""
    common = importlib.import_module(f"{package}.common")
    streams = importlib.import_module(f"{package}.datastream")
    state = importlib.import_module(f"{package}.datastream.state")
    sources = importlib.import_module(f"{package}.datastream.connectors.number_seq")
    directory, size, keys = str(options.work), options.value_bytes, options.keys

    class Keep(streams.KeyedProcessFunction):  # type: ignore[misc,name-defined]
        """Keeps random bytes for each key."""

        def open(self, runtime_context: Any) -> None:
            kind = common.Types.PICKLED_BYTE_ARRAY()
            self.held = runtime_context.get_state(state.ValueStateDescriptor("held", kind))
            self.name = f"{directory}/lines-{runtime_context.get_index_of_this_subtask()}"
            self.count = 0

        def process_element(self, value: int, ctx: Any) -> Iterator[int]:
            held = self.held.value()
            self.held.update(os.urandom(size))
            if self.count % _LINE == 0:
                with open(self.name, "a") as lines:
                    lines.write(f"{time.time()} {self.count} {held is not None}\n")
            self.count += 1
            return iter(())

    configuration = common.Configuration()
    wanted = {
        "execution.checkpointing.dir": f"file://{options.work}/checkpoint",
        "parallelism.default": "2",
        **_SETTINGS[package],
    }
    if options.savepoint:
        wanted["execution.state-recovery.path"] = options.savepoint
    for key, value in wanted.items():
        configuration.set_string(key, value)
    env = streams.StreamExecutionEnvironment.get_execution_environment(configuration)
    numbers = sources.NumberSequenceSource(0, 10**15)
    watermarks = common.WatermarkStrategy.no_watermarks()
    events = env.from_source(numbers, watermarks, "numbers", common.Types.LONG())
    keyed = events.set_parallelism(1).uid("numbers").key_by(lambda n: n % keys, common.Types.LONG())
    keyed.process(Keep(), common.Types.LONG()).uid("keep").print().uid("out")
    return env


def _taken(package: str, job: Any, target: str) -> str:
    """Take a savepoint in ``target``, whose name says for Flink in which format; its path."""
    if package == "scurry":
        return str(job.trigger_savepoint(target).result())
    # the method of the same name calls one that Flink's own client does not have any more
    gateway = importlib.import_module("pyflink.java_gateway").get_gateway()
    formats = gateway.jvm.org.apache.flink.core.execution.SavepointFormatType
    kind = getattr(formats, target.rpartition("/")[2].upper())
    return str(job._j_job_client.triggerSavepoint(target, kind).get())


def main() -> None:
    """Fill the state and take savepoints of it, or start from one; tell how that went."""
    began = time.time()
    parser = argparse.ArgumentParser()
    parser.add_argument("package", choices=list(_SETTINGS))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--keys", type=int, required=True)
    parser.add_argument("--value-bytes", type=int, required=True)
    parser.add_argument("--targets", nargs="*", default=[])
    parser.add_argument("--savepoint", default="")
    options = parser.parse_args()
    options.work.mkdir(parents=True)
    job = program(options.package, options).execute_async("savepoints")
    wanted = 1 if options.savepoint else options.keys // _LINE + 10
    while len(seen(options.work)) < wanted:
        time.sleep(0.05)
    if options.savepoint:
        at, found = seen(options.work)[0]
        print(json.dumps({"seconds": at - began, "found": found}), flush=True)
    for target in options.targets:
        time.sleep(5)
        asked = time.time()
        path = _taken(options.package, job, target)
        taken = time.time()
        time.sleep(5)
        told = {"target": target, "path": path, "asked": asked, "taken": taken}
        print(json.dumps(told), flush=True)
    if options.targets:
        job.cancel().result()
    # a JVM may take its time to end
    os._exit(0)


if __name__ == "__main__":
    main()
