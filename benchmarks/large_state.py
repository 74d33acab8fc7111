"""Large states beside each other: a value, a map or a list for each of very many keys.

All of them lie in runs. One slot, one core, without Spark: reading numbers, a keyed function that
reads 100 bytes of the state of a key and writes them anew. First every key is written once; then
some micro-batches, in which no key comes twice, are measured, in nanoseconds of processor time an
event. Last, a fresh machine opens the state.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import click
import psutil

from benchmarks import _results
from benchmarks._results import Result
from scurry.common import Configuration
from scurry.connectors.number_seq import NumberSequenceSource
from scurry.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from scurry.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from scurry.testing import LocalJob

NAME = "large_state"
#: No divisor of a number of keys: multiples of it go through the keys in an order of their own.
_STEP = 7_368_787
_PAYLOAD = bytes(100)
#: How seldom Spark's Python workers look for garbage, see :mod:`scurry.engine.spark.worker`.
_AS_IN_WORKERS = 100_000, 50, 100


class InValue(KeyedProcessFunction):
    """Keeps a value."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.held: Any = runtime_context.get_state(ValueStateDescriptor("held"))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        self.held.value()
        self.held.update(_PAYLOAD)
        return iter(())


class InMap(InValue):
    """Keeps ``entries`` entries of a map, of which each event reads and writes one."""

    def __init__(self, entries: int = 1) -> None:
        self.entries = entries

    def open(self, runtime_context: RuntimeContext) -> None:
        self.held = runtime_context.get_map_state(MapStateDescriptor("held"))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        entry = value % self.entries
        if self.held.get(entry) is None:
            self.held.put_all(dict.fromkeys(range(self.entries), _PAYLOAD))
        else:
            self.held.put(entry, _PAYLOAD)
        return iter(())


class InList(InValue):
    """Keeps a list of one element, which each event replaces."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.held = runtime_context.get_list_state(ListStateDescriptor("held"))

    def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
        self.held.get()
        self.held.update([_PAYLOAD])
        return iter(())


KINDS = {"value": InValue, "map": InMap, "map_of_ten": lambda: InMap(10), "list": InList}


class Seconds(NamedTuple):
    """Processor time of one kind of state."""

    fill: float
    again: float
    fresh: float
    entries: int


def measure(kind: str, keys: int, batch: int, batches: int) -> Seconds:
    """Fill the state of ``keys`` keys, change it in some micro-batches, open it elsewhere."""
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.of({"scurry.state.runs-above": str(min(keys // 2, 200_000))})
    )
    env.set_parallelism(1)
    numbers = env.from_source(NumberSequenceSource(0, keys + batches * batch), None, "numbers")
    by_key = numbers.key_by(lambda number: number * _STEP % keys)
    by_key.process(KINDS[kind]()).uid("keep").print()
    with LocalJob(env._compile(None)) as job:
        fill = sum(_step(job, batch) for _ in range(keys // batch))
        again = sorted(_step(job, batch) for _ in range(batches))[batches // 2]
        if not all("held" in "".join(host.store.records.large_tables) for host in _hosts(job)):
            raise SystemExit("The state has not moved into runs: take more keys or larger batches.")
        entries = sum(host.store.entries for host in _hosts(job))
        job.restart(lose_local_state=True)
        return Seconds(fill, again, _step(job, 1), entries)


def _hosts(job: LocalJob) -> Any:
    return job._hosts.values()


def _step(job: LocalJob, records: int) -> float:
    gc.collect()
    began = time.process_time()
    job.step(records)
    return time.process_time() - began


def _result(kind: str, keys: int, batch: int, found: Seconds, values: Seconds) -> Result:
    each = found.again / batch * 1e6
    note = f"{each:.1f} µs an event, {found.again / values.again:.2f} times a value; "
    note += f"{found.fill / keys * 1e6:.1f} µs to fill a key; {found.entries:,} records; "
    note += f"first micro-batch on a fresh machine {found.fresh:.2f} s of processor time"
    return Result(
        contender=kind,
        events=batch,
        output_rows=0,
        events_per_s=round(batch / found.again),
        peak_rss_mb=psutil.Process().memory_info().rss >> 20,
        jvm_rss_mb=0,
        worker_rss_mb=0,
        first_result_s=round(found.fresh, 2),
        wall_s=round(found.again, 2),
        keys=keys,
        note=note,
    )


@click.command(help=__doc__.splitlines()[0])
@click.option("--keys", default=1_000_000, show_default=True)
@click.option("--batch", default=100_000, show_default=True, help="events of a micro-batch")
@click.option("--batches", default=5, show_default=True, help="micro-batches that are measured")
@click.option("--kind", multiple=True, type=click.Choice(list(KINDS)), help="beside a value")
def main(keys: int, batch: int, batches: int, kind: tuple[str, ...]) -> None:
    """Measure all kinds, print the table and save it."""
    gc.set_threshold(*_AS_IN_WORKERS)
    kinds = ["value", *(one for one in KINDS if one in (kind or KINDS) and one != "value")]
    found = {one: measure(one, keys, batch, batches) for one in kinds}
    command = f"python -m benchmarks.{NAME} --keys {keys} --batch {batch} --batches {batches}"
    results = [
        _results.stamp(_result(one, keys, batch, found[one], found["value"]), command)
        for one in kinds
    ]
    known = _results.save(NAME, results, list(KINDS), partial=bool(kind))
    _results.show(f"Large states, one slot, one core, {_results.machine()}", known, {})


if __name__ == "__main__":
    main()
