"""PyFlink: the same ``KeyedProcessFunction``, at settings that suit it.

The package has no Parquet reader, so the same rows come as CSV through Flink's own reader, which
alone is more than ten times as fast as the Python function behind it. The sink is Flink's
``DiscardingSink``.

Two ways of running Python: worker *processes*, fed in bundles, whose state cache must hold all keys
of a bundle; and *threads*, an interpreter inside the JVM with direct calls for state. The function
notes its first event, its output rows and their sum, and writes them to a file when it is closed:
the sink cannot be asked.
"""

from __future__ import annotations

import json
import os
import sysconfig
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pyflink.common import Configuration, Types
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.connectors.base import Sink
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.java_gateway import get_gateway
from pyflink.table import StreamTableEnvironment

from benchmarks.contenders._protocol import Measurement, Options, count_of, padded

_POLL_SECONDS = 0.2
COUNTS = Types.TUPLE([Types.LONG(), Types.LONG()])
_TABLE = """
    CREATE TABLE events (`key` BIGINT, `value` BIGINT, ts BIGINT{event_time})
    WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')
"""
_EVENT_TIME = """
    , rowtime AS TO_TIMESTAMP_LTZ(ts, 3),
    WATERMARK FOR rowtime AS rowtime - INTERVAL '{seconds:.3f}' SECOND
"""


class Tally:
    """What a function has put out; written to a file when it is closed."""

    def __init__(self, tallies: str) -> None:
        self.tallies = tallies
        self.rows = self.checksum = 0
        self.first = 0.0

    def add(self, count: int) -> None:
        """A row with that count goes out."""
        if not self.rows:
            self.first = time.time()
        self.rows += 1
        self.checksum += count

    def write(self) -> None:
        """There will be no more."""
        tally = {"first": self.first, "rows": self.rows, "checksum": self.checksum}
        if self.rows:
            Path(self.tallies, f"{uuid.uuid4().hex}.json").write_text(json.dumps(tally))


class Count(KeyedProcessFunction):
    """Counts the events of each key and says the new count for every event."""

    def __init__(self, tallies: str, value_bytes: int = 0) -> None:
        self.tally = Tally(tallies)
        self.size = value_bytes

    def open(self, runtime_context: RuntimeContext) -> None:
        kind = Types.PICKLED_BYTE_ARRAY() if self.size else Types.LONG()
        self.count = runtime_context.get_state(ValueStateDescriptor("count", kind))

    def process_element(
        self, value: Any, ctx: KeyedProcessFunction.Context
    ) -> Iterator[tuple[int, int]]:
        if self.size:
            count = count_of(self.count.value()) + 1
            self.count.update(padded(count, self.size))
        else:
            count = (self.count.value() or 0) + 1
            self.count.update(count)
        self.tally.add(count)
        yield value[0], count

    def close(self) -> None:
        self.tally.write()


def keyed_count(events: DataStream, tallies: str, value_bytes: int = 0) -> DataStream:
    """The job."""
    keyed = events.key_by(lambda event: event[0], key_type=Types.LONG())
    return keyed.process(Count(tallies, value_bytes), output_type=COUNTS)


def settings(options: Any, metrics: bool = False) -> Configuration:
    """Flink's configuration for the options given; a failing job ends instead of starting again."""
    made = Configuration()
    wanted = {
        "parallelism.default": options.parallelism,
        "pipeline.object-reuse": "true",
        "taskmanager.memory.managed.size": "1gb",
        "python.metric.enabled": str(metrics).lower(),
        "restart-strategy.type": "none",
        "python.execution-mode": options.mode,
        "python.state.cache-size": options.cache,
        "python.fn-execution.bundle.size": options.bundle,
        "python.fn-execution.bundle.time": options.bundle_ms,
        "state.backend.type": options.backend,
    }
    if options.checkpoint_ms:
        wanted |= {
            "execution.checkpointing.interval": f"{options.checkpoint_ms} ms",
            "execution.checkpointing.dir": _checkpoints(options).absolute().as_uri(),
            "execution.checkpointing.incremental": "true",
            "execution.checkpointing.num-retained": 100_000,
        }
    for key, value in wanted.items():
        made.set_string(key, str(value))
    return made


def main(
    job: Callable[[DataStream, str], DataStream] | None = None,
    out_of_order_ms: int | None = None,
    metrics: bool = False,
) -> None:
    """Run a job over the events and report.

    With ``out_of_order_ms`` the table source makes timestamps and watermarks, in the JVM, which is
    cheaper than an assigner in Python; the third column is then the time. ``metrics`` cost time as
    well, but windows in worker processes do not work without.
    """
    options = options_of()
    # read by PyFlink when the environment is made
    os.environ["_python_worker_execution_mode"] = "process"  # noqa: SIM112
    # the interpreter inside the JVM finds its packages, and these contenders, nowhere else
    os.environ["PYTHONPATH"] = os.pathsep.join((sysconfig.get_paths()["purelib"], os.getcwd()))
    tallies = options.work.absolute() / "tallies"
    tallies.mkdir(parents=True)
    measurement = Measurement()
    env = StreamExecutionEnvironment.get_execution_environment(settings(options, metrics))
    tables = StreamTableEnvironment.create(env)
    columns, event_time = "*", ""
    if out_of_order_ms is not None:
        columns = "`key`, `value`, rowtime"
        event_time = _EVENT_TIME.format(seconds=out_of_order_ms / 1000)
    path = options.data.absolute().as_uri()
    tables.execute_sql(_TABLE.format(path=path, event_time=event_time))
    discarding = get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink
    events = tables.to_data_stream(tables.sql_query(f"SELECT {columns} FROM events"))
    if job is None:
        job = partial(keyed_count, value_bytes=options.value_bytes)
    job(events, str(tallies)).sink_to(Sink(discarding()))
    done = env.execute_async("counts").get_job_execution_result()
    completed: set[str] = set()
    while not done.done():
        completed |= {str(found) for found in _checkpoints(options).glob("*/chk-*/_metadata")}
        time.sleep(_POLL_SECONDS)
    done.result()
    ended = time.time()
    found = [json.loads(file.read_text()) for file in tallies.iterdir()]
    rows = sum(tally["rows"] for tally in found)
    measurement.mark(0, min(tally["first"] for tally in found))
    measurement.mark(options.events, ended)
    measurement.finish(
        events=options.events,
        output_rows=rows,
        checksum=sum(tally["checksum"] for tally in found),
        note=f"{len(completed)} checkpoints completed" if options.checkpoint_ms else "",
    )


def options_of() -> Any:
    """What was given on the command line."""
    parser = Options()
    parser.add_argument("--mode", choices=("process", "thread"), default="process")
    parser.add_argument("--backend", choices=("rocksdb", "hashmap"), default="hashmap")
    parser.add_argument("--checkpoint-ms", type=int, default=0, help="0: no checkpoints")
    parser.add_argument("--bundle", type=int, default=100_000)
    parser.add_argument("--bundle-ms", type=int, default=10_000)
    parser.add_argument("--cache", type=int, default=100_000)
    parser.add_argument("--value-bytes", type=int, default=0, help="0: the count is the value")
    return parser.parse_args()


def _checkpoints(options: Any) -> Path:
    return Path(options.work) / "checkpoints"


if __name__ == "__main__":
    main()
