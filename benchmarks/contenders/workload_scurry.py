"""Scurry: any of the workloads of :mod:`benchmarks.contenders._programs`, durable."""

from __future__ import annotations

from functools import partial

from benchmarks.contenders._programs import FUNCTIONS, chosen_workload, wire
from benchmarks.contenders._shapes import OUT_OF_ORDER_MS
from benchmarks.contenders.scurry import main
from scurry.common import Duration, WatermarkStrategy
from scurry.datastream import DataStream


def job(workload: str, events: DataStream) -> DataStream:
    """The workload over the stream of events. Two tasks read the files side by side; what a list
    holds when it is read depends on the order of events, which event time restores."""
    if workload in ("timers", "list_state"):
        behind = Duration.of_millis(OUT_OF_ORDER_MS)
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(behind)
        strategy = strategy.with_timestamp_assigner(lambda event, _: event[2])
        events = events.assign_timestamps_and_watermarks(strategy)
    made: DataStream = wire(workload, events.key_by(lambda event: event[0]), FUNCTIONS[workload]())
    return made


if __name__ == "__main__":
    main(partial(job, chosen_workload()))
