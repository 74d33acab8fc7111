"""Recovery: how long until state is usable again, on a fresh machine and where it survived.

A job fills its state and is stopped; then it starts again twice on the same checkpoint, each time
in a new process with a JVM of its own: once with its local stores in place, once with them deleted,
so that every slot is rebuilt from the log in the checkpoint. What is measured is the first
micro-batch after the restart, from its start to its end, with a few records for each slot. With
``--store-only`` one slot is measured by itself, without Spark. Large states are files of the
checkpoint, in which nothing has to be rebuilt, whether they are values or, with ``--state map``,
maps.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa

from benchmarks import _results
from benchmarks._memory import JVM, WORKERS, MemoryWatch
from benchmarks._results import OUT, ROOT, Result
from benchmarks._slot import BenchSlot
from scurry.connectors.collection import SequenceEnumerator
from scurry.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from scurry.datastream.state import MapStateDescriptor, ValueStateDescriptor
from scurry.functions.source import Json, ReadPlan, Source, SourceBatch, SourceEnumerator

NAME = "recovery"
WORK = OUT / "work" / NAME
_SLOTS = 2
#: Records of the micro-batch that is measured: enough for every slot to have some.
_PROBE = 100


class KeySource(Source):
    """Keys 0 to ``upto``; then it waits for more, as a topic would."""

    bounded = False
    as_tuples = True

    def __init__(self, upto: int) -> None:
        self._upto = upto

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return _Unending(self._upto)

    def read(self, what: Json) -> Iterator[SourceBatch]:
        keys = pa.array(np.arange(*what, dtype=np.int64))
        yield SourceBatch(columns=pa.RecordBatch.from_arrays([keys], ["key"]))


class _Unending(SequenceEnumerator):
    def plan(self, position: Json, max_records: int) -> ReadPlan:
        planned = super().plan(position, max_records)
        return ReadPlan(planned.position, planned.ranges, finished=False)


class Keep(KeyedProcessFunction):
    """Keeps a value of ``size`` bytes for each key."""

    def __init__(self, size: int) -> None:
        self.size = size

    def open(self, runtime_context: RuntimeContext) -> None:
        self.random = np.random.default_rng(runtime_context.get_index_of_this_subtask())
        self.held = runtime_context.get_state(ValueStateDescriptor("held"))

    def process_element(self, value: tuple[int, ...], ctx: Any) -> Iterator[Any]:
        self.held.update(self.random.bytes(self.size))
        return iter(())


class KeepInMap(Keep):
    """The same in a map of one entry."""

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        self.map = runtime_context.get_map_state(MapStateDescriptor("map"))

    def process_element(self, value: tuple[int, ...], ctx: Any) -> Iterator[Any]:
        self.map.put(0, self.random.bytes(self.size))
        return iter(())


_FUNCTIONS = {"value": Keep, "map": KeepInMap}


def store_only(keys: int, size: int) -> dict[str, float]:
    """Seconds to open one slot's store, fresh and surviving."""
    with tempfile.TemporaryDirectory(prefix="scurry-bench-") as directory:
        slot = BenchSlot(Path(directory, "first"))
        slot.fill(keys, size)
        began = time.perf_counter()
        slot.store.begin(slot.journal)
        surviving = time.perf_counter() - began
        fresh = slot.fresh(Path(directory, "second"))
        began = time.perf_counter()
        fresh.begin(slot.journal)
        rebuilt = time.perf_counter() - began
        found = fresh.entries
        fresh.close()
        slot.local.close()
    if found != keys:
        raise SystemExit(f"The rebuilt store holds {found} entries, expected {keys}.")
    return {"surviving_s": surviving, "fresh_s": rebuilt}


def on_spark(keys: int, size: int, state: str) -> dict[str, float]:
    """Seconds of the first micro-batch after a restart, fresh and surviving."""
    shutil.rmtree(WORK, ignore_errors=True)
    try:
        filled = _in_new_process(keys, keys, size, state)
        surviving = _in_new_process(keys + _PROBE, _PROBE, size, state)
        shutil.rmtree(WORK / "local")
        fresh = _in_new_process(keys + 2 * _PROBE, _PROBE, size, state)
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
    if fresh["entries"] != keys + 2 * _PROBE or surviving["rebuilt"]:
        raise SystemExit(f"The state is not what it should be: {surviving}, then {fresh}.")
    return {
        "fill_s": filled["all_s"],
        "surviving_s": surviving["first_s"],
        "fresh_s": fresh["first_s"],
        "rebuilt_mb": fresh["rebuilt"] / 1e6,
        "shown": fresh["shown"],
    }


def _in_new_process(upto: int, expected: int, size: int, state: str) -> dict[str, float]:
    command = [sys.executable, "-m", f"benchmarks.{NAME}", "--value-bytes", str(size)]
    command += ["--state", state, "--run", str(upto), str(expected)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def run_job(upto: int, expected: int, size: int, state: str) -> dict[str, float]:
    """Run the job until it has read ``expected`` records, and say how that went."""
    seconds: list[float] = []
    shown: set[str] = set()
    found: dict[str, float] = {}
    enough = threading.Event()

    def on_progress(progress: Any) -> None:
        shown.update(str(wait) for wait in progress.waiting)
        if progress.batch < 0 or progress.records_read == found.get("read"):
            return
        seconds.append(progress.last_seconds)
        found["read"] = progress.records_read
        found["rebuilt"] = progress.counters.get("state_rebuilt_bytes", 0)
        found["entries"] = progress.gauges.get("state_entries", 0)
        if progress.records_read >= expected:
            enough.set()

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(_SLOTS)
    settings = env.get_configuration()
    settings.set_string("scurry.batch.max-records", "1000000")
    settings.set_string("execution.checkpointing.dir", str(WORK / "checkpoint"))
    settings.set_string("scurry.state.local-dir", str(WORK / "local"))
    env.on_progress(on_progress)
    events = env.from_source(KeySource(upto), None, "keys").uid("keys")
    kept = events.key_by(lambda event: event[0]).process(_FUNCTIONS[state](size)).uid("keep")
    kept.print().uid("out")
    job = env.execute_async(NAME)
    end = job.get_job_execution_result()
    while not enough.wait(1):
        if end.done():
            raise SystemExit(f"The job ended early: {end.result()}")
    job.cancel().result()
    return {**found, "first_s": seconds[0], "all_s": sum(seconds), "shown": len(shown)}


def _result(contender: str, keys: int, seconds: float, watch: MemoryWatch, note: str) -> Result:
    """The figures in the form that all benchmarks share; the rate is in keys."""
    return Result(
        contender=contender,
        events=keys,
        output_rows=0,
        events_per_s=round(keys / seconds),
        peak_rss_mb=watch.peak_mb(),
        jvm_rss_mb=watch.peak_mb(JVM),
        worker_rss_mb=watch.peak_mb(WORKERS),
        first_result_s=round(seconds, 2),
        wall_s=round(seconds, 2),
        keys=keys,
        note=note,
    )


@click.command(help=__doc__.splitlines()[0])
@click.option("--megabytes", default=1000, show_default=True, help="bytes of all values together")
@click.option("--value-bytes", default=100, show_default=True)
@click.option("--state", default="value", type=click.Choice(list(_FUNCTIONS)), show_default=True)
@click.option("--store-only", "alone", is_flag=True, help="one slot by itself, without Spark")
@click.option("--run", "phase", type=(int, int), hidden=True)
def main(
    megabytes: int, value_bytes: int, state: str, alone: bool, phase: tuple[int, int] | None
) -> None:
    """Measure, print and save."""
    if phase is not None:
        print(json.dumps(run_job(*phase, value_bytes, state)))
        return
    if alone and state != "value":
        raise click.UsageError("--store-only measures a value state")
    keys = megabytes * 1_000_000 // value_bytes
    with MemoryWatch(os.getpid()) as watch:
        found = store_only(keys, value_bytes) if alone else on_spark(keys, value_bytes, state)
    size = f"{state} state of {keys:,} keys, {value_bytes} bytes each"
    notes = {"fresh_machine": size, "store_survived": size}
    if "rebuilt_mb" in found:
        notes["fresh_machine"] += f"; {found['rebuilt_mb']:,.0f} MB of log read; "
        notes["fresh_machine"] += f"progress shown {found['shown']:.0f} times"
        notes["store_survived"] += f"; filling them took {found['fill_s']:.0f} s"
    name = f"{NAME}_store" if alone else NAME if state == "value" else f"{NAME}_{state}"
    command = f"python -m benchmarks.{NAME} --megabytes {megabytes} --state {state}"
    results = [
        _results.stamp(_result(contender, keys, found[key], watch, notes[contender]), command)
        for contender, key in (("fresh_machine", "fresh_s"), ("store_survived", "surviving_s"))
    ]
    known = _results.save(name, results, [result.contender for result in results], partial=False)
    _results.show(f"First micro-batch after a restart, {_results.machine()}", known, {})


if __name__ == "__main__":
    main()
