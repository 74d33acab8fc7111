"""Scurry: an ``AsyncFunction`` that asks a slow service about every number of a sequence."""

from __future__ import annotations

from typing import Any

from benchmarks.contenders._protocol import Measurement, Options
from benchmarks.contenders._service import SlowService, read_notes
from benchmarks.contenders.scurry import SummingSink
from scurry.common.time import Time
from scurry.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment
from scurry.datastream.connectors.number_seq import NumberSequenceSource


class Ask(AsyncFunction):
    """Asks about every element."""

    def __init__(self, service: SlowService) -> None:
        self.service = service

    async def async_invoke(self, value: int) -> list[tuple[int, int]]:
        return [(0, await self.service.ask(value))]


def main() -> None:
    """Run the job and report."""
    parser = Options()
    parser.add_argument("--batch", type=int, default=100_000, help="events per micro-batch")
    parser.add_argument("--capacity", type=int, required=True)
    parser.add_argument("--latency-ms", type=int, required=True)
    parser.add_argument("--ordered", action="store_true")
    options = parser.parse_args()
    notes = options.work.absolute() / "notes"
    notes.mkdir(parents=True)
    measurement = Measurement()
    sink = SummingSink()
    written = 0

    def on_progress(progress: Any) -> None:
        nonlocal written
        written = progress.records_written
        measurement.mark(progress.records_read)

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(options.parallelism)
    settings = env.get_configuration()
    settings.set_string("spark.master", f"local[{options.parallelism}]")
    settings.set_string("scurry.batch.max-records", str(options.batch))
    settings.set_string("execution.checkpointing.dir", str(options.work / "checkpoint"))
    settings.set_string("scurry.state.local-dir", str(options.work / "local"))
    env.on_progress(on_progress)
    numbers = env.from_source(NumberSequenceSource(0, options.events - 1), None, "numbers")
    wait = AsyncDataStream.ordered_wait if options.ordered else AsyncDataStream.unordered_wait
    service = SlowService(options.latency_ms / 1000, str(notes))
    wait(numbers, Ask(service), Time.seconds(10), options.capacity).sink_to(sink)
    env.execute("async calls")
    _, cpu_us = read_notes(notes)
    measurement.finish(
        events=options.events, output_rows=written, checksum=sink.checksum, cpu_us=cpu_us
    )


if __name__ == "__main__":
    main()
