"""What queryable state costs a job, and how fast queries are answered while the job runs.

A keyed count is run in turns with and without its state being queryable, so that the machine's
moods hit both alike; the cost is the ratio of the rates. Then the job runs once more, and a process
of its own asks for random keys over HTTP as fast as answers come, on some connections.
"""

from __future__ import annotations

import json
import random
import select
import shutil
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click
import psutil

from benchmarks._results import OUT, machine
from benchmarks.flat_cost import Ticks
from scurry.common import Configuration, Types
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.state import ValueStateDescriptor
from scurry.engine.status import status_of

NAME = "queryable_state"
_WORK = OUT / "work" / NAME


class Count(KeyedProcessFunction):
    """Counts the events of each key."""

    def open(self, runtime_context: Any) -> None:
        descriptor = ValueStateDescriptor("count", Types.LONG())
        descriptor.set_queryable("counts")
        self.count = runtime_context.get_state(descriptor)

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        return ()


class Run:
    """One run of the job; the first micro-batch, which starts everything, is not timed."""

    def __init__(self, events: int, keys: int, batch: int, slots: int, queryable: bool) -> None:
        shutil.rmtree(_WORK, ignore_errors=True)
        self.marks: list[tuple[int, float]] = []
        settings = {
            "spark.master": f"local[{slots}]",
            "scurry.batch.max-records": str(batch),
            "execution.checkpointing.dir": str(_WORK / "checkpoint"),
            "scurry.state.local-dir": str(_WORK / "local"),
            "scurry.queryable-state.dir": str(_WORK / "views"),
            "queryable-state.enable": str(queryable).lower(),
            "queryable-state.server.ports": "0",
        }
        env = StreamExecutionEnvironment.get_execution_environment(Configuration.of(settings))
        env.set_parallelism(slots)
        env.on_progress(lambda progress: self._mark(progress.records_read))
        ticks = env.from_source(Ticks(events, keys), None, "ticks")
        counted = ticks.key_by(lambda row: row[0]).process(Count()).uid("count")
        counted.print()
        self.job = env.execute_async(NAME)

    def _mark(self, read: int) -> None:
        if not self.marks or read > self.marks[-1][0]:
            self.marks.append((read, time.perf_counter()))

    def rate(self) -> float:
        """Events a second, once the job has ended."""
        self.job.get_job_execution_result().result()
        (first, began), (last, ended) = self.marks[0], self.marks[-1]
        return (last - first) / (ended - began)


def ask(address: str, keys: int, connections: int, seconds: float) -> dict[str, float]:
    """Ask for random keys as fast as answers come; what came of it."""
    where = urlsplit(address)
    sockets = [
        socket.create_connection((where.hostname, where.port or 80)) for _ in range(connections)
    ]
    poll, by_number = select.epoll(), {each.fileno(): each for each in sockets}
    asked, took, failed = dict[int, float](), list[float](), 0

    def send(each: socket.socket) -> None:
        path = f"/jobs/{NAME}/state/counts/{random.randrange(keys)}"
        asked[each.fileno()] = time.perf_counter()
        each.sendall(f"GET {path} HTTP/1.1\r\nHost: {where.hostname}\r\n\r\n".encode())

    for each in sockets:
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        poll.register(each, select.EPOLLIN)
        send(each)
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        for number, _ in poll.poll(1.0):
            answer = by_number[number].recv(65536)
            took.append(time.perf_counter() - asked[number])
            failed += not answer.startswith(b"HTTP/1.1 200")
            send(by_number[number])
    took.sort()
    return {
        "gets_per_s": len(took) / seconds,
        "p50_ms": 1000 * statistics.median(took),
        "p99_ms": 1000 * took[int(len(took) * 0.99)],
        "failed": failed,
    }


def _asking(address: str, keys: int, connections: int, seconds: float) -> dict[str, float]:
    """:func:`ask` in a process of its own."""
    code = (
        "import json, sys; from benchmarks.queryable_state import ask; "
        f"print(json.dumps(ask({address!r}, {keys}, {connections}, {seconds})))"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _server() -> psutil.Process:
    (note,) = Path(_WORK, "views").glob("scurry-*/views/*/server.json")
    return psutil.Process(json.loads(note.read_text())["pid"])


@click.command(help=__doc__.splitlines()[0])
@click.option("--events", default=6_000_000, show_default=True)
@click.option("--keys", default=100_000, show_default=True)
@click.option("--batch", default=1_000_000, show_default=True, help="events of a micro-batch")
@click.option("--slots", default=1, show_default=True)
@click.option("--turns", default=3, show_default=True)
@click.option("--connections", default=8, show_default=True)
@click.option("--seconds", default=5.0, show_default=True, help="how long keys are asked for")
def main(
    events: int, keys: int, batch: int, slots: int, turns: int, connections: int, seconds: float
) -> None:
    """Measure the cost, then the answers."""
    rates: dict[bool, list[float]] = {False: [], True: []}
    for turn in range(turns):
        for queryable in (False, True) if turn % 2 == 0 else (True, False):
            rates[queryable].append(Run(events, keys, batch, slots, queryable).rate())
    print(f"\nA keyed count, {keys:,} keys, {slots} slots, {batch:,} events a batch, {machine()}")
    plain, fed = (statistics.median(rates[queryable]) for queryable in (False, True))
    shown = {q: ", ".join(f"{rate:,.0f}" for rate in found) for q, found in rates.items()}
    print(f"  without queries  {plain:>12,.0f} events/s   ({shown[False]})")
    print(f"  queryable        {fed:>12,.0f} events/s   ({shown[True]})")
    print(f"  it costs {100 * (1 - fed / plain):.1f} % of the rate")
    run = Run(events * 10, keys, batch, slots, queryable=True)
    while len(run.marks) < 2:
        time.sleep(0.1)
    status = status_of(str(_WORK / "checkpoint"))
    assert status is not None
    server = _server()
    before, marks = sum(server.cpu_times()[:2]), len(run.marks)
    told = _asking(status.queries, keys, connections, seconds)
    busy = sum(server.cpu_times()[:2]) - before
    (first, began), (last, ended) = run.marks[marks - 1], run.marks[-1]
    print(f"\nGets of random keys, {connections} connections, while the job runs")
    print(f"  {told['gets_per_s']:,.0f} gets/s, p50 {told['p50_ms']:.2f} ms, p99", end=" ")
    print(f"{told['p99_ms']:.2f} ms, {told['failed']} failed")
    per_core = told["gets_per_s"] * seconds / busy
    print(f"  the server used {busy:.1f} s of a core: {per_core:,.0f} gets/s on one core")
    print(f"  its memory is {server.memory_info().rss >> 20} MB")
    if ended > began:
        print(f"  meanwhile the job did {(last - first) / (ended - began):,.0f} events/s")
    run.job.cancel().result()
    shutil.rmtree(_WORK, ignore_errors=True)


if __name__ == "__main__":
    main()
