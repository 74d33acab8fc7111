"""Kafka -> keyed count -> Kafka: events/s of a full topic, and latency at a steady rate.

A broker on this machine, four partitions. First the input topic is full and each contender works
it off, in micro-batches of as many records; what counts is the time between the first and the last
record that a consumer of committed records finds in the output. Then events are written at a steady
rate, and an event's latency is the time from writing it to receiving its result with such a
consumer. Every contender runs in a process of its own, beside broker, feeder and consumer.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import click
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import NewTopic
from rich.console import Console

from benchmarks import _results
from benchmarks._results import OUT, ROOT
from scurry.testing.kafka import KafkaBroker, ServerMissing, connector_jars, private_broker

NAME = "kafka"
_KEYS = 10_000
_PARTITIONS = 4
_PATIENCE_SECONDS = 180.0


@dataclass(frozen=True)
class Contender:
    """A program to measure."""

    name: str
    module: str
    options: tuple[str, ...] = ()
    needs_jars: bool = False


CONTENDERS = (
    Contender("scurry", "kafka_scurry", ("--guarantee", "EXACTLY_ONCE")),
    Contender("scurry_at_least_once", "kafka_scurry", ("--guarantee", "AT_LEAST_ONCE")),
    Contender("pyspark_jvm_connector", "kafka_pyspark", needs_jars=True),
)


@dataclass
class Figures:
    """What was measured of one contender."""

    contender: str
    events: int
    events_per_s: float
    rate: int
    p50_ms: float
    p99_ms: float
    worst_ms: float
    measured: int
    #: what the time of a micro-batch went into, in milliseconds, medians
    phases_ms: dict[str, float] = field(default_factory=dict)
    machine: str = ""
    measured_at: str = ""


class Bench:
    """A broker, and what is done with it."""

    def __init__(self, broker: KafkaBroker, jars: str) -> None:
        self.servers = broker.bootstrap_servers
        self._admin = broker.admin()
        self._jars = jars
        self.phases: dict[str, float] = {}

    def topic(self) -> str:
        """A new topic."""
        name = f"t-{uuid.uuid4().hex[:8]}"
        self._admin.create_topics([NewTopic(name, _PARTITIONS, 1)])[name].result()
        return name

    @contextmanager
    def running(self, contender: Contender, source: str, sink: str, *more: str) -> Iterator[Any]:
        """``contender`` at work in a process of its own."""
        work = OUT / "work" / contender.name
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        log = OUT / "logs" / f"kafka-{contender.name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", f"benchmarks.contenders.{contender.module}"]
        command += ["--servers", self.servers, "--input", source, "--output", sink]
        command += ["--work", str(work), "--jars", self._jars, *contender.options, *more]
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        with log.open("w") as errors:
            process = subprocess.Popen(
                command,
                stdout=errors,
                stderr=errors,
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": path, "SCURRY_MASTER": "local[2]"},
            )
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            shutil.rmtree(work, ignore_errors=True)

    def consumer(self, topic: str) -> Any:
        """A consumer of the committed records of a topic."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": uuid.uuid4().hex,
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 10,
            }
        )
        consumer.assign([TopicPartition(topic, at, 0) for at in range(_PARTITIONS)])
        return consumer

    def throughput(self, contender: Contender, events: int, per_batch: int) -> float:
        """Events/s of a full topic, from the first result to the last."""
        source, sink = self.topic(), self.topic()
        self._fill(source, events)
        seen, first, last = 0, 0.0, 0.0
        with self.running(
            contender, source, sink, "--bounded", "--records-per-batch", str(per_batch)
        ) as process:
            consumer = self.consumer(sink)
            deadline = time.monotonic() + _PATIENCE_SECONDS
            early = 0
            while seen < events:
                found = [m for m in consumer.consume(10_000, 0.1) if m.error() is None]
                now = time.monotonic()
                if found and not seen:
                    first = now
                if now <= first + 0.2:
                    # the first micro-batch: what it holds took a start-up, which is not measured
                    early = seen + len(found)
                seen += len(found)
                last = now
                if now > deadline or (process.poll() is not None and not found):
                    raise SystemExit(f"{contender.name} stopped after {seen} of {events} events")
            consumer.close()
        return (events - early) / max(last - first, 1e-9)

    def _fill(self, topic: str, events: int) -> None:
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 20})
        for number in range(events):
            value = b'{"key":%d,"sent":%d}' % (number % _KEYS, number)
            while True:
                try:
                    producer.produce(topic, value, partition=number % _PARTITIONS)
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.flush()

    def latency(
        self, contender: Contender, rate: int, warm_up: float, seconds: float
    ) -> list[float]:
        """Milliseconds from writing an event to receiving its result, after the warm-up; the job's
        own account of its time is then in :attr:`phases`."""
        source, sink = self.topic(), self.topic()
        stop = threading.Event()
        feeder = threading.Thread(target=self._feed, args=(source, rate, stop))
        found: list[float] = []
        with self.running(contender, source, sink) as process:
            consumer = self.consumer(sink)
            feeder.start()
            begin, deadline = float("inf"), time.monotonic() + _PATIENCE_SECONDS
            try:
                while time.monotonic() < begin + warm_up + seconds:
                    messages = consumer.consume(1000, 0.005)
                    now, stamp = time.monotonic(), time.time_ns()
                    if messages and begin == float("inf"):
                        begin = now
                    if now > begin + warm_up:
                        found += [
                            (stamp - json.loads(m.value())["sent"]) / 1e6
                            for m in messages
                            if m.error() is None
                        ]
                    if process.poll() is not None or (begin == float("inf") and now > deadline):
                        raise SystemExit(f"{contender.name} ended or gave no results")
            finally:
                stop.set()
                feeder.join()
            consumer.close()
            self.phases = _medians(OUT / "work" / contender.name, time.time() - seconds)
        return sorted(found)

    def _feed(self, topic: str, rate: int, stop: threading.Event) -> None:
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 1})
        began, sent = time.monotonic(), 0
        while not stop.wait(0.01):
            due = int((time.monotonic() - began) * rate)
            for number in range(sent, due):
                value = b'{"key":%d,"sent":%d}' % (number % _KEYS, time.time_ns())
                producer.produce(topic, value, partition=number % _PARTITIONS)
            sent = max(sent, due)
            producer.poll(0)
        producer.flush()


@click.command(help=__doc__.splitlines()[0])
@click.option("--events", default=1_000_000, show_default=True, help="events in the full topic")
@click.option("--per-batch", default=100_000, show_default=True, help="records per micro-batch")
@click.option("--rate", default=5000, show_default=True, help="events/s for the latency")
@click.option("--warm-up", default=15.0, show_default=True, help="seconds before it is measured")
@click.option("--seconds", default=30.0, show_default=True, help="seconds it is measured for")
@click.option("--only", multiple=True, help="measure just these contenders")
def main(
    events: int, per_batch: int, rate: int, warm_up: float, seconds: float, only: tuple[str, ...]
) -> None:
    """Measure the contenders one after the other."""
    console = Console(stderr=True, highlight=False)
    try:
        jars = ",".join(map(str, connector_jars().glob("*.jar")))
    except ServerMissing as missing:
        console.print(f"pyspark_jvm_connector is left out: {missing}")
        jars = ""
    chosen = [c for c in CONTENDERS if (not only or c.name in only) and (jars or not c.needs_jars)]
    results: list[Figures] = []
    with private_broker() as broker:
        bench = Bench(broker, jars)
        for contender in chosen:
            console.print(f"{contender.name}: throughput ...")
            speed = bench.throughput(contender, events, per_batch)
            console.print(f"{contender.name}: {speed:,.0f} events/s; latency ...")
            times = bench.latency(contender, rate, warm_up, seconds)
            figures = _figures(contender, events, speed, rate, times, bench.phases)
            console.print(f"{contender.name}: p50 {figures.p50_ms} ms, p99 {figures.p99_ms} ms")
            results.append(figures)
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / f"{NAME}.json").write_text(json.dumps([asdict(r) for r in results], indent=2) + "\n")
    print(f"Kafka -> keyed count -> Kafka, {_results.machine()}")
    for r in results:
        print(
            f"  {r.contender:<24} {r.events_per_s:>10,.0f} events/s   at {r.rate:,} events/s: "
            f"p50 {r.p50_ms:,.0f} ms, p99 {r.p99_ms:,.0f} ms, worst {r.worst_ms:,.0f} ms"
        )
        if r.phases_ms:
            print("    a micro-batch, median ms: " + _breakdown(r.phases_ms))


#: The phases that follow one another, and those within ``execute``.
_ORDER = ("engine", "wait", "plan", "execute", "commit", "epoch")
_WITHIN = ("ingress", "read", "stage 1", "state 1", "spark")


def _breakdown(phases: dict[str, float]) -> str:
    inner = ", ".join(f"{name} {phases[name]:g}" for name in _WITHIN if name in phases)
    parts = [f"{name} {phases[name]:g}" for name in _ORDER if name in phases]
    total = sum(phases.get(name, 0.0) for name in _ORDER)
    return ", ".join(parts) + f" (together {total:g}; within execute: {inner})"


def _medians(work: Path, since: float) -> dict[str, float]:
    """The medians, in milliseconds, of what a contender says its micro-batches took."""
    file = work / "phases.jsonl"
    if not file.exists():
        return {}
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    recent = [line for line in lines if line["at"] >= since]
    names = {name for line in recent for name in line if name not in ("at", "events")}
    return {
        name: round(1000 * statistics.median(line.get(name, 0.0) for line in recent), 1)
        for name in sorted(names)
    }


def _figures(
    contender: Contender,
    events: int,
    speed: float,
    rate: int,
    times: list[float],
    phases: dict[str, float],
) -> Figures:
    def at(share: float) -> float:
        return round(times[min(len(times) - 1, int(len(times) * share))], 1)

    return Figures(
        contender.name,
        events,
        round(speed),
        rate,
        at(0.5),
        at(0.99),
        round(times[-1], 1),
        len(times),
        phases,
        _results.machine(),
        time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    )


if __name__ == "__main__":
    main()
