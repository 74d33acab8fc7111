"""Kill a job between Kafka, Postgres and files, and account for every input in each output:
``python -m tests.faults.sinks_soak --kills 50``.

One job (:mod:`tests.faults.sinks_job`) reads a Kafka topic into which a producer keeps writing, and
writes each result to Kafka, to Postgres and to files. Its drivers and workers are killed at random
moments and at the nasty ones between two commits, or paused there and woken while another driver
runs; with ``--outages`` broker and database go away as well, and with ``--spark-reader`` Spark's
own connector reads the topic. At the end every event of the input topic must have left exactly one
result in each of the three, with the right count.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import NewTopic
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from tests.faults.process import Driver
from tests.faults.sleepers import Sleepers
from tests.faults.soak import LIFE, dealt, show_kills
from tests.faults.strikes import (
    FATAL,
    PAUSES,
    SINK_PAUSES,
    SINK_SURVIVED,
    SINKS,
    SURVIVED,
    Strike,
    Target,
)

from scurry.checkpoint.directory import JobDirectory
from scurry.connectors.kafka.enumerator import from_json
from scurry.testing.kafka import (
    KafkaBroker,
    await_transactions,
    connector_jars,
    private_broker,
)
from scurry.testing.servers import PostgresServer

MASTERS = ("local[2]", "local[2,4]")
PARTITIONS, KEYS = 3, 30
SOURCE, SINK = "events", "counted"
#: kinds that end the driver, with the moments within the sinks' own commits
ENDING: dict[str, Strike] = {**FATAL, **SINKS}
PAUSING: dict[str, Strike] = {**PAUSES, **SINK_PAUSES}
SPARING: dict[str, Strike] = {
    **{kind: strike for kind, strike in SURVIVED.items() if not kind.startswith("store")},
    **SINK_SURVIVED,
}
RATE = 150

Result = tuple[int, int, int]


@dataclass
class Account:
    """What is missing from one output, and what is there too often or should not be."""

    lost: int = 0
    duplicated: int = 0


@dataclass
class Recovery:
    """How a job came through an outage."""

    seconds: float
    restarts: int
    waits: list[str]

    def __str__(self) -> str:
        said = f"said: {self.waits[-1]}" if self.waits else "said nothing"
        return f"went on {self.seconds:.1f} s later, {self.restarts} restarts, {said}"


@dataclass
class SinksTally:
    """What came of it."""

    kills: Counter[str] = field(default_factory=Counter)
    outages: dict[str, Recovery] = field(default_factory=dict)
    events: int = 0
    batches: int = 0
    restarts: int = 0
    sinks: dict[str, Account] = field(default_factory=dict)

    @property
    def line(self) -> str:
        lost = sum(account.lost for account in self.sinks.values())
        duplicated = sum(account.duplicated for account in self.sinks.values())
        return f"kills={self.kills.total()} lost={lost} duplicated={duplicated}"

    @property
    def clean(self) -> bool:
        return all(a.lost == 0 == a.duplicated for a in self.sinks.values()) and bool(self.sinks)


class Feeder:
    """Writes numbered events, each once, at a steady rate until it is closed."""

    def __init__(self, servers: str) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "enable.idempotence": True,
                "message.timeout.ms": 0,
                "linger.ms": 5,
                "log_level": 0,
            }
        )
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._feed, daemon=True)
        self._thread.start()

    def _feed(self) -> None:
        began, number = time.monotonic(), 0
        while not self._stopped.wait(0.05):
            while number < (time.monotonic() - began) * RATE:
                key = number * 7919 % KEYS
                value = json.dumps({"key": key, "number": number})
                self._producer.produce(SOURCE, value, partition=key % PARTITIONS)
                number += 1
            self._producer.poll(0)

    def close(self) -> None:
        """Write what is left, and no more."""
        self._stopped.set()
        self._thread.join()
        assert self._producer.flush(60) == 0


def read_topic(servers: str, topic: str) -> Iterator[Any]:
    """All messages of a topic that a consumer of committed records sees, partition by partition."""
    assert await_transactions(servers, topic, 60), f"a transaction of {topic} stays open"
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "accounts",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    for partition in range(PARTITIONS):
        consumer.assign([TopicPartition(topic, partition, 0)])
        while True:
            message = consumer.poll(20)
            assert message is not None, f"no answer while reading {topic}"
            error = message.error()
            if error is None:
                yield json.loads(message.value())
            elif error.code() == KafkaError._PARTITION_EOF:
                break
    consumer.close()


class SinksRound:
    """One job with its servers, from the first event to the last."""

    def __init__(
        self, root: Path, broker: KafkaBroker, postgres: PostgresServer, jars: str = ""
    ) -> None:
        self.root = root
        self.jars = jars
        self.broker = broker
        self.postgres = postgres
        self.tally = SinksTally()
        self.sleepers = Sleepers(root)
        for part in ("faults", "local", "files"):
            (root / part).mkdir(parents=True)
        topics = [NewTopic(name, PARTITIONS, 1) for name in (SOURCE, SINK)]
        admin = broker.admin()
        for made in admin.create_topics(topics).values():
            made.result(30)
        with psycopg.connect(postgres.dsn) as connection:
            connection.execute("CREATE TABLE counted (key int, number int, count int)")

    def driver(self, master: str) -> Driver:
        where = (self.broker.bootstrap_servers, SOURCE, SINK, self.postgres.dsn, self.jars)
        return Driver(self.root, "tests.faults.sinks_job", str(self.root), master, *where)

    def run(
        self,
        lives: list[tuple[str, list[str]]],
        rng: random.Random,
        on_kill: Callable[[str], None] = lambda kind: None,
        outages: tuple[Outage, ...] = (),
    ) -> None:
        """Lead the job through ``lives`` (a master, and the kinds of kills it has to take), then
        through ``outages``, to the end; and settle the accounts."""
        feeder = Feeder(self.broker.bootstrap_servers)
        wanted = sum(len(kinds) for _, kinds in lives)
        while lives:
            for master, kinds in lives:
                self._live(master, kinds, rng, on_kill)
            # a moment to strike at may not have come
            lives = plan(wanted - self.tally.kills.total(), rng)
        driver = self.sleepers.start(lambda: self.driver(MASTERS[0]))
        self.tally.restarts += self.sleepers.wake()
        for outage in outages:
            self._suffer(driver, outage)
            on_kill(outage.name)
        feeder.close()
        ended = driver.wait_until(self._all_read)
        (self.root / "stop").touch()
        ended = driver.wait_until(lambda: driver.finished) and ended
        self._end(driver)
        if not ended:
            raise SystemExit(f"The job did not come to its end.\n{self._log()}")
        self._settle()

    def _live(
        self, master: str, kinds: list[str], rng: random.Random, on_kill: Callable[[str], None]
    ) -> None:
        """One driver's life."""
        driver = self.sleepers.start(lambda: self.driver(master))
        for kind in kinds:
            if not self._strike(driver, master, kind, rng, on_kill):
                break
            if kind in PAUSING and self._struck:
                self.sleepers.add(driver)
                return
        self._end(driver)

    def _end(self, driver: Driver) -> None:
        driver.end()
        self.tally.restarts += driver.restarts

    def _log(self) -> str:
        return (self.root / "driver.log").read_text(errors="replace")[-6000:]

    def _strike(
        self,
        driver: Driver,
        master: str,
        kind: str,
        rng: random.Random,
        on_kill: Callable[[str], None],
    ) -> bool:
        """One kill, once the job has got going again; whether the driver is still alive."""
        self._struck = False
        reached = driver.batch + rng.randint(1, 4)
        if not driver.wait_until(lambda: driver.batch >= reached):
            raise SystemExit(f"No progress before the kill {kind!r}\n{self._log()}")
        if rng.random() < 0.7:
            # otherwise they sleep on, perhaps through the next driver's life
            self.tally.restarts += self.sleepers.wake()
        target = Target(
            *(driver.process.pid, self.root, rng, lambda: driver.batch),
            *(lambda: driver.alive, lambda: self.driver(master)),
        )
        self._struck = {**ENDING, **PAUSING, **SPARING}[kind](target)
        if self._struck:
            self.tally.kills[kind] += 1
            on_kill(kind)
            if kind in ENDING:
                driver.wait_until(lambda: False)
        return driver.alive

    def _suffer(self, driver: Driver, outage: Outage) -> None:
        """A server goes away while the job runs; the job must say so and go on."""
        reached = driver.batch + 2
        if not driver.wait_until(lambda: driver.batch >= reached):
            raise SystemExit(f"No progress before {outage.name}\n{self._log()}")
        restarts, said = driver.restarts, len(driver.waits)
        server = self.broker if outage.server == "Kafka" else self.postgres
        server.stop()
        time.sleep(outage.seconds)
        server.start()
        back, reached = time.monotonic(), driver.batch + 3
        if not driver.wait_until(lambda: driver.batch >= reached):
            raise SystemExit(f"No recovery from {outage.name}\n{self._log()}")
        waits = [text for text in driver.waits[said:] if outage.server in text]
        self.tally.outages[outage.name] = Recovery(
            time.monotonic() - back, driver.restarts - restarts, waits
        )

    def _all_read(self) -> bool:
        """Whether the committed position of the job is the end of the input."""
        epoch = JobDirectory(str(self.root / "checkpoint")).last_epoch()
        if epoch is None:
            return False
        ends = self._ends()
        self.tally.batches = epoch.batch + 1
        return all(
            ends[place.partition] == offset
            for place, offset in from_json(epoch.positions["events"]["next"]).items()
        )

    def _ends(self) -> list[int]:
        consumer = Consumer(
            {"bootstrap.servers": self.broker.bootstrap_servers, "group.id": "ends"}
        )
        places = [TopicPartition(SOURCE, number) for number in range(PARTITIONS)]
        ends = [consumer.get_watermark_offsets(place, timeout=20)[1] for place in places]
        consumer.close()
        return ends

    def _settle(self) -> None:
        due = Counter(self._expected())
        self.tally.events = due.total()
        outputs = {"Kafka": self._in_kafka(), "Postgres": self._in_postgres()}
        outputs["files"] = self._in_files()
        for name, results in outputs.items():
            found = Counter(results)
            self.tally.sinks[name] = Account((due - found).total(), (found - due).total())

    def _expected(self) -> Iterator[Result]:
        """The results that the input topic calls for. A key's events are in one partition."""
        counts: Counter[int] = Counter()
        for event in read_topic(self.broker.bootstrap_servers, SOURCE):
            counts[event["key"]] += 1
            yield event["key"], event["number"], counts[event["key"]]

    def _in_kafka(self) -> Iterator[Result]:
        for row in read_topic(self.broker.bootstrap_servers, SINK):
            yield row["key"], row["number"], row["count"]

    def _in_postgres(self) -> list[Result]:
        with psycopg.connect(self.postgres.dsn) as connection:
            return connection.execute("SELECT key, number, count FROM counted").fetchall()  # type: ignore[return-value]

    def _in_files(self) -> Iterator[Result]:
        for part in (self.root / "files").rglob("part-*"):
            if ".scurry" not in part.parts:
                for line in part.read_text().splitlines():
                    key, number, count = map(int, line.split())
                    yield key, number, count


@dataclass(frozen=True)
class Outage:
    """A server that is away for a while."""

    server: str
    seconds: float

    @property
    def name(self) -> str:
        return f"{self.server} away for {self.seconds:g} s" if self.seconds else "Kafka restarted"


def outages_of(seconds: float) -> tuple[Outage, ...]:
    """A restart of the broker, a long absence of it, and one of the database."""
    return Outage("Kafka", 0), Outage("Kafka", seconds), Outage("Postgres", seconds)


def plan(kills: int, rng: random.Random) -> list[tuple[str, list[str]]]:
    """The lives of the drivers; every kind gets its turn before any gets a second one."""
    ending, sparing = dealt(rng, {**ENDING, **PAUSING}), dealt(rng, SPARING)
    lives = []
    while kills > 0:
        size = min(kills, LIFE - 2)
        kills -= size
        mild = [next(sparing) for _ in range(size - 1)]
        lives.append((MASTERS[len(lives) % len(MASTERS)], [*mild, next(ending)]))
    return lives


@contextmanager
def sinks_round(root: Path, jars: str = "") -> Iterator[SinksRound]:
    """A job with servers of its own; with ``jars``, it reads through Spark's own connector."""
    with private_broker() as broker, PostgresServer() as postgres:
        yield SinksRound(root, broker, postgres, jars)


def spark_jars() -> str:
    """Spark's Kafka connector, for ``spark.jars``."""
    return ",".join(map(str, sorted(connector_jars().glob("*.jar"))))


def main() -> None:
    """The console command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--outages", type=float, nargs="?", const=30.0, default=0.0, metavar="S")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    parser.add_argument(
        "--spark-reader", action="store_true", help="read through Spark's connector"
    )
    options = parser.parse_args()
    jars = spark_jars() if options.spark_reader else ""
    console = Console()
    root = Path(tempfile.mkdtemp(prefix="scurry-sinks-"))
    began = time.monotonic()
    console.print(f"seed {options.seed}, files in {root}")
    rng = random.Random(options.seed)
    away = outages_of(options.outages) if options.outages else ()
    with Progress(console=console) as progress, sinks_round(root / "0", jars) as job:
        bar = progress.add_task("kills", total=options.kills + len(away))

        def on_kill(kind: str) -> None:
            progress.update(bar, advance=1, description=kind)
            if not console.is_terminal:
                console.print(f"{(time.monotonic() - began) / 60:5.1f} min  {kind}")

        job.run(plan(options.kills, rng), rng, on_kill, away)
    tally = job.tally
    show_kills(console, tally.kills)
    table = Table("output", "lost", "duplicated", title=f"Of {tally.events:,} events")
    for name, account in tally.sinks.items():
        table.add_row(name, str(account.lost), str(account.duplicated))
    console.print(table)
    for name, text in tally.outages.items():
        console.print(f"{name}: {text}", highlight=False, soft_wrap=True)
    console.print(
        f"{tally.batches} micro-batches, {tally.restarts} restarts within a driver, "
        f"{(time.monotonic() - began) / 60:.1f} minutes"
    )
    print(tally.line)
    sys.exit(0 if tally.clean else 1)


if __name__ == "__main__":
    main()
