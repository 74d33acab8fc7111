"""Scurry: any of the workloads of :mod:`benchmarks.contenders._programs`, durable."""

from __future__ import annotations

from functools import partial

from benchmarks.contenders._programs import FUNCTIONS, chosen_workload, wire
from benchmarks.contenders._shapes import OUT_OF_ORDER_MS
from benchmarks.contenders.scurry import engine_options, run
from scurry.common import Duration, WatermarkStrategy
from scurry.datastream import DataStream


class OfEvent(TimestampAssigner):
    """The third column is the time of an event."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        timestamp: int = value[2]
        return timestamp


def strategy() -> WatermarkStrategy:
    """The watermark strategy of the events."""
    behind = Duration.of_millis(OUT_OF_ORDER_MS)
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(behind)
    return bounded.with_timestamp_assigner(OfEvent())


def main() -> None:
    """Run the job and report."""
    parser = engine_options(Options())
    parser.add_argument("--workload", choices=sorted(FUNCTIONS), required=True)
    options = parser.parse_args()
    workload = options.workload

    def build(env: Any, events: Any) -> Any:
        keyed = events.key_by(lambda event: event[0])
        return wire(workload, env, keyed, FUNCTIONS[workload]())

    run(options, build, strategy() if workload == "timers" else None)


if __name__ == "__main__":
    main(partial(job, chosen_workload()))
