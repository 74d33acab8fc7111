"""PyFlink: any of the workloads of :mod:`benchmarks.contenders._programs`, at its best settings.

What was emitted is counted and added up around the function, since the sink cannot be asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from pyflink.common import Types
from pyflink.datastream import DataStream, KeyedBroadcastProcessFunction, KeyedProcessFunction

from benchmarks.contenders._programs import FUNCTIONS, chosen_workload, wire
from benchmarks.contenders._shapes import OUT_OF_ORDER_MS
from benchmarks.contenders.pyflink import COUNTS, Tally, main


class Tallied:
    """Runs a function, and keeps a tally of what it emits."""

    def __init__(self, function: Any, tallies: str) -> None:
        self.function = function
        self.tally = Tally(tallies)

    def open(self, runtime_context: Any) -> None:
        self.function.open(runtime_context)

    def process_element(self, value: Any, ctx: Any) -> Iterator[tuple[int, int]]:
        return self.counted(self.function.process_element(value, ctx))

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[tuple[int, int]]:
        return self.counted(self.function.process_broadcast_element(value, ctx))

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[int, int]]:
        return self.counted(self.function.on_timer(timestamp, ctx))

    def counted(self, emitted: Iterable[tuple[int, int]] | None) -> Iterator[tuple[int, int]]:
        """Pass on what was emitted."""
        for record in emitted or ():
            self.tally.add(record[1])
            yield record

    def close(self) -> None:
        self.tally.write()


class TalliedKeyed(Tallied, KeyedProcessFunction):
    """A function of one keyed input."""


class TalliedBroadcast(Tallied, KeyedBroadcastProcessFunction):
    """A function of a keyed input with rules beside it."""


def job(workload: str, events: DataStream, tallies: str) -> DataStream:
    """The workload over the stream of events."""
    kind = TalliedBroadcast if workload == "broadcast_rules" else TalliedKeyed
    keyed = events.key_by(lambda event: event[0], key_type=Types.LONG())
    return wire(workload, keyed, kind(FUNCTIONS[workload](), tallies), COUNTS)


if __name__ == "__main__":
    workload = chosen_workload()
    main(partial(job, workload), OUT_OF_ORDER_MS if workload == "timers" else None)
