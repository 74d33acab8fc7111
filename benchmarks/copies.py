"""What copies cost: a keyed function yields tuples, Rows, dicts, dataclasses, copied and reused.

What a function emits is a value, so objects that can change are copied when they are yielded, and
with object reuse they are not. One slot, one core, without Spark: reading numbers, a keyed function
with a ``ValueState``, a map behind it. Events a second of processor time; ways to run take turns,
the best of several rounds counts.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import click
import psutil

from benchmarks import _results
from benchmarks._results import Result
from scurry.common import Row
from scurry.connectors.number_seq import NumberSequenceSource
from scurry.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from scurry.datastream.state import ValueStateDescriptor
from scurry.testing import LocalJob

NAME = "copies"


@dataclass
class Account:
    """A record that can change."""

    key: int
    count: int
    total: int
    last: int


class Counting(KeyedProcessFunction):
    """Counts the events of a key, and yields what ``make`` makes of key, count and event."""

    def __init__(self, make: Callable[[int, int, int], Any]) -> None:
        self.make = make

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("state"))

    def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
        count = (self.state.value() or 0) + 1
        self.state.update(count)
        yield self.make(value % 10_000, count, value)


class InState(Counting):
    """Keeps an account in its state, changes it and yields it."""

    def process_element(self, value: int, ctx: Any) -> Iterable[Any]:
        held = self.state.value()
        if held is None:
            held = Account(value % 10_000, 0, 0, 0)
        held.count += 1
        held.total += value
        held.last = value
        self.state.update(held)
        yield held


def _dict(key: int, count: int, value: int) -> dict[str, Any]:
    return {"key": key, "count": count, "total": value, "last": value}


def _nested(key: int, count: int, value: int) -> dict[str, Any]:
    return {"key": key, "counts": [count, value], "last": {"value": value}}


FUNCTIONS: dict[str, KeyedProcessFunction] = {
    "tuple": Counting(lambda key, count, value: (key, count, value, value)),
    "row": Counting(lambda key, count, value: Row(key, count, value, value)),
    "dict": Counting(_dict),
    "nested_dict": Counting(_nested),
    "new_dataclass": Counting(lambda key, count, value: Account(key, count, value, value)),
    "dataclass_of_state": InState(_dict),
}


def measure(function: KeyedProcessFunction, reuse: bool, events: int) -> float:
    """Seconds of processor time for one micro-batch of ``events``."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    if reuse:
        env.get_config().enable_object_reuse()
    numbers = env.from_source(NumberSequenceSource(0, events - 1), None, "numbers")
    counted = numbers.key_by(lambda number: number % 10_000).process(function)
    counted.map(lambda one: 0).filter(lambda one: False).print()
    with LocalJob(env._compile(None)) as job:
        gc.collect()
        began = time.process_time()
        job.step()
        return time.process_time() - began


def _result(name: str, reuse: bool, events: int, seconds: float, freely: float) -> Result:
    note = "object reuse: nothing is copied"
    if not reuse:
        note = f"{(seconds - freely) / events * 1e9:.0f} ns an event more than with object reuse"
    return Result(
        contender=f"{name}_reused" if reuse else name,
        events=events,
        output_rows=events,
        events_per_s=round(events / seconds),
        peak_rss_mb=psutil.Process().memory_info().rss >> 20,
        jvm_rss_mb=0,
        worker_rss_mb=0,
        first_result_s=round(seconds, 2),
        wall_s=round(seconds, 2),
        keys=10_000,
        note=note,
    )


@click.command(help=__doc__.splitlines()[0])
@click.option("--events", default=300_000, show_default=True)
@click.option("--rounds", default=5, show_default=True)
def main(events: int, rounds: int) -> None:
    """Measure all functions, print the table and save it."""
    ways = [(name, reuse) for name in FUNCTIONS for reuse in (False, True)]
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, reuse in ways:
            took = measure(FUNCTIONS[name], reuse, events)
            best[name, reuse] = min(best[name, reuse], took)
    command = f"python -m benchmarks.{NAME} --events {events} --rounds {rounds}"
    results = [
        _results.stamp(_result(*way, events, best[way], best[way[0], True]), command)
        for way in ways
    ]
    known = _results.save(NAME, results, [result.contender for result in results], partial=False)
    _results.show(f"Copies, one slot, one core, {_results.machine()}", known, {})


if __name__ == "__main__":
    main()
