"""PyFlink: the same ``AsyncFunction``, in worker processes, the only mode in which it has them."""

from __future__ import annotations

import json
import os
import sysconfig
import time
import uuid
from pathlib import Path

from pyflink.common import Configuration, Time, Types, WatermarkStrategy
from pyflink.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.base import Sink
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.java_gateway import get_gateway

from benchmarks.contenders._protocol import Measurement, Options
from benchmarks.contenders._service import SlowService, read_notes


class Ask(AsyncFunction):
    """Asks about every element, and counts the answers."""

    def __init__(self, service: SlowService, tallies: str) -> None:
        self.service = service
        self.tallies = tallies
        self.rows = self.checksum = 0

    async def async_invoke(self, value: int) -> list[int]:
        answer = await self.service.ask(value)
        self.rows += 1
        self.checksum += answer
        return [answer]

    def close(self) -> None:
        tally = {"rows": self.rows, "checksum": self.checksum}
        Path(self.tallies, f"{uuid.uuid4().hex}.json").write_text(json.dumps(tally))


def main() -> None:
    """Run the job and report."""
    parser = Options()
    parser.add_argument("--capacity", type=int, required=True)
    parser.add_argument("--latency-ms", type=int, required=True)
    parser.add_argument("--ordered", action="store_true")
    options = parser.parse_args()
    os.environ["_python_worker_execution_mode"] = "process"  # noqa: SIM112
    os.environ["PYTHONPATH"] = os.pathsep.join([sysconfig.get_paths()["purelib"], os.getcwd()])
    tallies, notes = (options.work.absolute() / name for name in ("tallies", "notes"))
    tallies.mkdir(parents=True)
    notes.mkdir()
    measurement = Measurement()
    settings = Configuration()
    settings.set_string("parallelism.default", str(options.parallelism))
    settings.set_string("python.execution-mode", "process")
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    numbers = env.from_source(
        NumberSequenceSource(0, options.events - 1),
        WatermarkStrategy.no_watermarks(),
        "numbers",
        type_info=Types.LONG(),
    )
    wait = AsyncDataStream.ordered_wait if options.ordered else AsyncDataStream.unordered_wait
    function = Ask(SlowService(options.latency_ms / 1000, str(notes)), str(tallies))
    answers = wait(numbers, function, Time.seconds(10), options.capacity, Types.LONG())
    discarding = get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink
    answers.sink_to(Sink(discarding()))
    env.execute("async calls")
    ended = time.time()
    first, cpu_us = read_notes(notes)
    found = [json.loads(file.read_text()) for file in tallies.iterdir()]
    rows = sum(tally["rows"] for tally in found)
    measurement.mark(0, first)
    measurement.mark(rows, ended)
    measurement.finish(
        events=options.events,
        output_rows=rows,
        checksum=sum(tally["checksum"] for tally in found),
        cpu_us=cpu_us,
    )


if __name__ == "__main__":
    main()
