"""Kafka -> keyed count -> Kafka: events/s of a full topic, and latency at a steady rate.

A broker on this machine, four partitions. First the input topic is full and each contender works
it off, in micro-batches as large as they are by default; what counts is the time between the first
and the last record that is committed in the output. Then events are written at a steady
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from confluent_kafka import Consumer, IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import NewTopic, OffsetSpec
from rich.console import Console

from benchmarks import _results
from benchmarks._ending import end_in_order
from benchmarks._harness import ContenderFailed
from benchmarks._memory import JVM, WORKERS, MemoryWatch
from benchmarks._results import OUT, ROOT, Result
from scurry.testing.kafka import (
    KafkaBroker,
    ServerMissing,
    connector_jars,
    flink_connector_jars,
    private_broker,
)

NAME = "kafka"
_KEYS = 10_000
_PARTITIONS = 4
_PATIENCE_SECONDS = 180.0


@dataclass(frozen=True)
class Contender:
    """A program to measure."""

    name: str
    module: str
    guarantee: str
    #: whose connector it needs, None for nobody's
    jars: Callable[[], Path] | None = None
    #: the variable that names its interpreter, if that is not this one
    interpreter_variable: str = ""
    note: str = ""
    #: slow ones get fewer events
    most_events: int = 1 << 40
    #: key=value of the engine
    options: tuple[str, ...] = ()
    #: records per micro-batch, where the default is all there are
    per_batch: int = 0

    @property
    def interpreter(self) -> str | None:
        """The interpreter to run it with, None if there is none."""
        variable = self.interpreter_variable
        return os.environ.get(variable) if variable else sys.executable

    def found_jars(self) -> str:
        """The connector's files, separated by commas."""
        return "" if self.jars is None else ",".join(map(str, self.jars().glob("*.jar")))


CONTENDERS = (
    Contender("scurry", "kafka_scurry", "EXACTLY_ONCE", note="micro-batches, exactly once"),
    Contender(
        "scurry_at_least_once", "kafka_scurry", "AT_LEAST_ONCE", note="micro-batches, at least once"
    ),
    Contender(
        "scurry_live",
        "kafka_scurry",
        "EXACTLY_ONCE",
        note="live, a checkpoint every second, exactly once",
        options=("execution.engine=live",),
    ),
    Contender(
        "scurry_live_200_ms",
        "kafka_scurry",
        "EXACTLY_ONCE",
        note="live, a checkpoint every 200 ms, exactly once",
        options=("execution.engine=live", "execution.checkpointing.interval=200 ms"),
    ),
    Contender(
        "scurry_live_50_ms",
        "kafka_scurry",
        "EXACTLY_ONCE",
        note="live, a checkpoint every 50 ms, exactly once",
        options=("execution.engine=live", "execution.checkpointing.interval=50 ms"),
    ),
    Contender(
        "scurry_live_at_least_once",
        "kafka_scurry",
        "AT_LEAST_ONCE",
        note="live, a checkpoint every second, at least once",
        options=("execution.engine=live",),
    ),
    Contender(
        "pyspark_jvm_connector",
        "kafka_pyspark",
        "AT_LEAST_ONCE",
        connector_jars,
        note="Spark's own connector, transformWithState per key, at least once",
        most_events=200_000,
        per_batch=50_000,
    ),
    Contender(
        "pyflink",
        "kafka_pyflink",
        "EXACTLY_ONCE",
        flink_connector_jars,
        "SCURRY_PYFLINK_PYTHON",
        "thread mode, RocksDB, a checkpoint every second, exactly once",
        most_events=100_000,
    ),
    Contender(
        "pyflink_at_least_once",
        "kafka_pyflink",
        "AT_LEAST_ONCE",
        flink_connector_jars,
        "SCURRY_PYFLINK_PYTHON",
        "the same, at least once: results do not wait for checkpoints",
        most_events=100_000,
    ),
)


class Bench:
    """A broker, and what is done with it."""

    def __init__(self, broker: KafkaBroker) -> None:
        self.servers = broker.bootstrap_servers
        self._admin = broker.admin()
        #: by their numbers of events
        self._full: dict[int, str] = {}
        self.phases: dict[str, float] = {}
        #: seconds from the start of the last contender's process to its first result
        self.first_result_s = 0.0
        #: peaks of its memory: all of it, the JVM's, the workers'
        self.memory_mb = (0, 0, 0)

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
        assert contender.interpreter is not None
        command = [contender.interpreter, "-m", f"benchmarks.contenders.{contender.module}"]
        command += ["--servers", self.servers, "--input", source, "--output", sink]
        command += ["--work", str(work), "--jars", contender.found_jars()]
        command += ["--guarantee", contender.guarantee, *more]
        command += [part for option in contender.options for part in ("--option", option)]
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        with log.open("w") as errors:
            process = subprocess.Popen(
                command,
                stdout=errors,
                stderr=errors,
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": path, "SCURRY_MASTER": "local[2]"},
            )
        with MemoryWatch(process.pid) as watch:
            try:
                yield process
            finally:
                self.memory_mb = (watch.peak_mb(), watch.peak_mb(JVM), watch.peak_mb(WORKERS))
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
                "socket.nagle.disable": True,
            }
        )
        consumer.assign([TopicPartition(topic, at, 0) for at in range(_PARTITIONS)])
        return consumer

    def throughput(self, contender: Contender, events: int, per_batch: int) -> float:
        """Events/s of a full topic, from the first results to the last."""
        source, sink = self._full_topic(events), self.topic()
        per_batch = per_batch or contender.per_batch
        limit = ("--records-per-batch", str(per_batch)) if per_batch else ()
        began = time.monotonic()
        with self.running(contender, source, sink, "--bounded", *limit) as process:
            first, last = self._watch(process, sink)
            found = self._count(sink)
            if found != events:
                raise ContenderFailed(f"it stopped after {found} of {events} events")
        self.first_result_s = first[0] - began
        # what is there at first took a start-up, which is not measured
        return (last[1] - first[1]) / max(last[0] - first[0], 1e-9)

    def _watch(self, process: Any, topic: str) -> tuple[tuple[float, int], tuple[float, int]]:
        """When there were the first committed records in a topic, and when the last, until a
        process has ended, each with the number of records at the time. The broker is only asked
        where the topic ends: reading it would take a part of the two cores."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        seen: list[tuple[float, int]] = []
        ended = False
        while not ended:
            time.sleep(0.05)
            ended = process.poll() is not None
            now, size = time.monotonic(), self._ends(topic)
            if size > (seen[-1][1] if seen else 0):
                seen.append((now, size))
            if now > deadline:
                raise ContenderFailed(f"it took longer than {_PATIENCE_SECONDS:.0f} s")
        if not seen:
            raise ContenderFailed("it has written nothing")
        if seen[-1][0] <= seen[0][0] + 0.2:
            raise ContenderFailed("all was there at once: give it more --events")
        # the transactions of a micro-batch are committed one after the other
        return max(each for each in seen if each[0] <= seen[0][0] + 0.2), seen[-1]

    def _ends(self, topic: str) -> int:
        """How far the partitions of a topic reach, for readers of what is committed."""
        places = {TopicPartition(topic, at): OffsetSpec.latest() for at in range(_PARTITIONS)}
        ends = self._admin.list_offsets(places, isolation_level=IsolationLevel.READ_COMMITTED)
        return sum(each.result().offset for each in ends.values())

    def _count(self, topic: str) -> int:
        """How many committed records a topic has."""
        consumer = self.consumer(topic)
        found, quiet = 0, 0
        while quiet < 3:
            messages = [m for m in consumer.consume(100_000, 0.5) if m.error() is None]
            found, quiet = found + len(messages), 0 if messages else quiet + 1
        consumer.close()
        return found

    def _full_topic(self, events: int) -> str:
        """A topic with so many events, the same for all that want as many."""
        if events not in self._full:
            self._full[events] = self.topic()
            self._fill(self._full[events], events)
        return self._full[events]

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
                    # to consume with a timeout would wait for a thousand
                    first = consumer.poll(0.005)
                    messages = [] if first is None else [first, *consumer.consume(1000, 0)]
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
                        raise ContenderFailed("it ended, or gave no results")
            finally:
                stop.set()
                feeder.join()
            consumer.close()
            self.phases = _medians(OUT / "work" / contender.name, time.time() - seconds)
        return sorted(found)

    def _feed(self, topic: str, rate: int, stop: threading.Event) -> None:
        # what the generator and the consumer of the output wait for is not the contender's time
        quick = {"linger.ms": 1, "socket.nagle.disable": True}
        producer = Producer({"bootstrap.servers": self.servers, **quick})
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
@click.option("--events", default=3_000_000, show_default=True, help="events in the full topic")
@click.option("--per-batch", default=0, help="records per micro-batch; 0 for the default")
@click.option("--rate", default=5000, show_default=True, help="events/s for the latency")
@click.option("--warm-up", default=15.0, show_default=True, help="seconds before it is measured")
@click.option("--seconds", default=30.0, show_default=True, help="seconds it is measured for")
@click.option("--only", multiple=True, help="measure just these contenders")
def main(
    events: int, per_batch: int, rate: int, warm_up: float, seconds: float, only: tuple[str, ...]
) -> None:
    """Measure the contenders one after the other."""
    end_in_order()
    console = Console(stderr=True, highlight=False)
    absent: dict[str, str] = {}
    results: list[Result] = []
    command = f"python -m benchmarks.{NAME} --events {events} --rate {rate}"
    order = [contender.name for contender in CONTENDERS]
    with private_broker() as broker:
        bench = Bench(broker)
        for contender in CONTENDERS:
            if only and contender.name not in only:
                continue
            reason = _missing(contender)
            if reason:
                absent[contender.name] = reason
                continue
            console.print(f"{contender.name}: throughput ...")
            given = min(events, contender.most_events)
            try:
                speed = bench.throughput(contender, given, per_batch)
                first, memory = bench.first_result_s, bench.memory_mb
                console.print(f"{contender.name}: {speed:,.0f} events/s; latency ...")
                times = bench.latency(contender, rate, warm_up, seconds)
            except ContenderFailed as failure:
                absent[contender.name] = f"FAILED. {failure}"
                continue
            note = f"{contender.note}; {_latency(rate, times)}"
            if bench.phases:
                note += f"; a micro-batch, median ms: {_breakdown(bench.phases)}"
            console.print(f"{contender.name}: {note}")
            result = Result(
                contender=contender.name,
                events=given,
                output_rows=given,
                events_per_s=round(speed),
                peak_rss_mb=memory[0],
                jvm_rss_mb=memory[1],
                worker_rss_mb=memory[2],
                first_result_s=round(first, 1),
                wall_s=round(given / speed, 1),
                keys=_KEYS,
                note=note,
            )
            results.append(_results.stamp(result, command))
            _results.save(NAME, results, order, partial=True)
    known = _results.save(NAME, results, order, partial=bool(only))
    _results.show(f"Kafka -> keyed count -> Kafka, {_results.machine()}", known, absent)


def _missing(contender: Contender) -> str:
    """Why a contender cannot run, nothing if it can."""
    if contender.interpreter is None:
        return f"set {contender.interpreter_variable} to an interpreter that has it"
    try:
        contender.found_jars()
    except ServerMissing as missing:
        return str(missing)
    return ""


def _latency(rate: int, times: list[float]) -> str:
    def at(share: float) -> float:
        return times[min(len(times) - 1, int(len(times) * share))]

    return (
        f"at {rate:,} events/s: p50 {at(0.5):,.0f} ms, p99 {at(0.99):,.0f} ms, worst "
        f"{times[-1]:,.0f} ms"
    )


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


if __name__ == "__main__":
    main()
