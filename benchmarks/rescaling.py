"""How long a job stands still while it changes its parallelism, by how much state it has.

A job counts for each of its keys. When all keys have been there, it is asked for other
parallelisms, 1 -> 2 -> 5 -> 1, and tells its downtime: from the end of a micro-batch until the next
one can be planned. Each line is one job; the fewest keys say what a change costs that moves next to
nothing.
"""

from __future__ import annotations

import re
import shutil
import time

import click

from benchmarks._results import OUT, machine
from benchmarks.flat_cost import Ticks
from benchmarks.queryable_state import Count
from scurry.common import Configuration
from scurry.datastream import StreamExecutionEnvironment

NAME = "rescaling"
_WORK = OUT / "work" / NAME
_SLOTS = 5
_EVENTS = 10**10


def downtimes(keys: int, engine: str, degrees: tuple[int, ...]) -> list[float]:
    """The seconds that each change of the parallelism took."""
    shutil.rmtree(_WORK, ignore_errors=True)
    settings = {
        "spark.master": f"local[{2 * _SLOTS}]",
        "execution.engine": engine,
        "execution.checkpointing.interval": "1 s",
        "scurry.batch.max-records": "500000",
        "execution.checkpointing.dir": str(_WORK / "checkpoint"),
        "scurry.state.local-dir": str(_WORK / "local"),
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.of(settings))
    env.set_parallelism(1)
    read = [0]
    env.on_progress(lambda progress: read.__setitem__(0, progress.records_read))
    ticks = env.from_source(Ticks(_EVENTS, keys), None, "ticks").uid("ticks")
    ticks.key_by(lambda row: row[0]).process(Count()).uid("count").print()
    job = env.execute_async(NAME)
    while read[0] < keys:
        time.sleep(0.1)
    found = []
    for degree in degrees:
        told = re.fullmatch(r"parallelism \d+, downtime ([\d.]+) s", job.rescale(degree).result())
        assert told is not None
        found.append(float(told[1]))
    job.cancel().result()
    shutil.rmtree(_WORK, ignore_errors=True)
    return found


@click.command(help=__doc__.splitlines()[0])
@click.option("--keys", default="1000,1000000,4000000", show_default=True)
@click.option("--engine", type=click.Choice(["micro-batch", "live"]), default="micro-batch")
def main(keys: str, engine: str) -> None:
    """Measure one job after the other."""
    degrees = 2, 5, 1
    print(f"\nSeconds that a job stands still while its parallelism changes, {engine}, {machine()}")
    print(f"  {'keys':>12}  " + "  ".join(f"to {degree}" for degree in degrees))
    for number in map(int, keys.split(",")):
        shown = "  ".join(f"{seconds:4.1f}" for seconds in downtimes(number, engine, degrees))
        print(f"  {number:>12,}  {shown}", flush=True)


if __name__ == "__main__":
    main()
