"""A Kafka broker for tests: one real node, started and stopped like any other fixture.

The broker is Apache Kafka itself, in KRaft mode (no ZooKeeper), one process that is broker and
controller. Its jars are fetched once by ``mvn`` and kept in a cache directory. A broker can be
stopped and started again on the same port and the same data, which is how outages are tested.

:func:`shared_broker` is for test runs of several processes: the first one that needs the broker
starts it, the last one that leaves stops it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scurry.testing.servers import free_port

KAFKA_VERSION = "4.1.0"
#: Set to 1 where a missing server is a failure rather than a reason to skip tests.
REQUIRE = "SCURRY_REQUIRE_SERVERS"
_CLUSTER = "4L6g3nShT-eMCtK--X86sw"
_START_SECONDS = 120.0
_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>scurry</groupId>
  <artifactId>jars</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
{dependencies}  </dependencies>
</project>
"""
_DEPENDENCY = """    <dependency>
      <groupId>{}</groupId>
      <artifactId>{}</artifactId>
      <version>{}</version>{}
    </dependency>
"""
_ALONE = """
      <exclusions>
        <exclusion>
          <groupId>*</groupId>
          <artifactId>*</artifactId>
        </exclusion>
      </exclusions>"""


class ServerMissing(Exception):
    """The server cannot be had on this machine; the message says why."""


def kafka_jars() -> Path:
    """The directory of the broker's jars, fetched by Maven if it is not there yet."""
    coordinates = (f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}", "org.slf4j:slf4j-simple:1.7.36")
    return maven_jars(f"kafka-{KAFKA_VERSION}", *coordinates)


def connector_jars() -> Path:
    """The directory of Spark's Kafka connector and what it needs beyond Spark. There is none for
    PySpark 4.3; the one before it runs. Of its helper not all versions are published."""
    coordinates = (
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
        f"org.apache.kafka:kafka-clients:{KAFKA_VERSION}",
        "org.apache.commons:commons-pool2:2.12.0",
    )
    return maven_jars("spark-kafka-4.2.0", *coordinates, alone=True)


def flink_connector_jars() -> Path:
    """The directory of Flink's Kafka connector, which has in it all it needs."""
    coordinates = "org.apache.flink:flink-sql-connector-kafka:5.0.0-2.2"
    return maven_jars("flink-kafka-5.0.0", coordinates, alone=True)


def maven_jars(name: str, *coordinates: str, alone: bool = False) -> Path:
    """The directory ``name`` of the cache, which holds those artifacts and, unless they are wanted
    ``alone``, all they need."""
    cache = Path(os.environ.get("SCURRY_CACHE", Path.home() / ".cache" / "scurry"))
    place = cache / name
    if (place / "complete").exists():
        return place
    if shutil.which("mvn") is None:
        raise ServerMissing(f"mvn, which would fetch the jars of {name}, is not here")
    place.mkdir(parents=True, exist_ok=True)
    with _locked(place / "lock"):
        if not (place / "complete").exists():
            _fetch(place, coordinates, _ALONE if alone else "")
    return place


def _fetch(place: Path, coordinates: tuple[str, ...], exclusions: str) -> None:
    pom = place / "pom.xml"
    entries = "".join(_DEPENDENCY.format(*one.split(":"), exclusions) for one in coordinates)
    pom.write_text(_POM.format(dependencies=entries))
    command = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"]
    command += [f"-DoutputDirectory={place}", "-DincludeScope=runtime"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = (done.stdout + done.stderr).strip().splitlines()[:1] or ["no reason given"]
        raise ServerMissing(f"mvn could not fetch the jars of {place.name}: {reason[0]}")
    (place / "complete").touch()


class KafkaBroker:
    """One broker on free ports of this machine, with its files below ``directory``. ``features``
    are levels of the cluster's features, such as ``transaction.version``, where they are not to be
    the newest."""

    def __init__(
        self,
        directory: Path,
        settings: dict[str, str] | None = None,
        features: dict[str, int] | None = None,
    ) -> None:
        self.directory = directory
        self._features = [f"--feature={name}={level}" for name, level in (features or {}).items()]
        self._port, self._controller = free_port(), free_port()
        self._settings = settings or {}
        self._process: subprocess.Popen[bytes] | None = None
        directory.mkdir(parents=True, exist_ok=True)

    @property
    def bootstrap_servers(self) -> str:
        """Where clients find the broker."""
        return f"127.0.0.1:{self._port}"

    @property
    def log(self) -> Path:
        """What the broker has logged, over all its starts."""
        return self.directory / "broker.log"

    @property
    def pid(self) -> int | None:
        """The broker's process, while it runs."""
        return None if self._process is None else self._process.pid

    def start(self, owner: int | None = None) -> KafkaBroker:
        """Start the broker, on the data it had; returns when clients can use it. It is stopped
        when the process ``owner``, this one if not given, is gone."""
        jars = kafka_jars()
        properties = self.directory / "server.properties"
        if not properties.exists():
            properties.write_text("".join(f"{k}={v}\n" for k, v in self._properties().items()))
            format_storage = "kafka.tools.StorageTool", "format", "-t", _CLUSTER, *self._features
            self._java(jars, *format_storage, "-c").wait()
        self._process = self._java(jars, "kafka.Kafka")
        _stop_with(owner or os.getpid(), self._process.pid)
        self._await_ready()
        return self

    def _java(self, jars: Path, main: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = ["java", "-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        command += ["-cp", f"{jars}/*", main, *arguments, str(self.directory / "server.properties")]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def _properties(self) -> dict[str, str]:
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self._port},"
            f"CONTROLLER://127.0.0.1:{self._controller}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap_servers}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "log.dirs": str(self.directory / "data"),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "2",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "2",
            "group.initial.rebalance.delay.ms": "0",
            "auto.create.topics.enable": "false",
            "log.cleaner.backoff.ms": "200",
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
            **self._settings,
        }

    def _await_ready(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                break
            if _answers(self._port) and self._lists_topics():
                return
            time.sleep(0.1)
        self.stop()
        tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
        raise RuntimeError(f"the Kafka broker did not start; the end of {self.log}:\n{tail}")

    def _lists_topics(self) -> bool:
        from confluent_kafka import KafkaException

        try:
            return bool(self.admin().list_topics(timeout=5).brokers)
        except KafkaException:
            return False

    def stop(self, kill: bool = False) -> None:
        """Stop the broker; ``kill`` leaves it no time to close its files."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
            self._process.wait()
            self._process = None

    def admin(self) -> Any:
        """A client for creating topics and looking around."""
        return admin_client(self.bootstrap_servers)

    def __enter__(self) -> KafkaBroker:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()


def admin_client(bootstrap_servers: str) -> Any:
    """A client of the broker at that address which logs nothing while it is away."""
    from confluent_kafka.admin import AdminClient

    return AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})


def await_transactions(bootstrap_servers: str, topic: str, timeout: float = 10.0) -> bool:
    """Wait until no transaction is open in a topic; False if one still is after ``timeout`` s.

    A commit is decided once the coordinator has answered it. The partitions learn of it a moment
    later, and until then a reader of committed records finds them shorter than they are.
    """
    from confluent_kafka import IsolationLevel, TopicPartition
    from confluent_kafka.admin import OffsetSpec

    admin = admin_client(bootstrap_servers)
    partitions = admin.list_topics(topic, timeout=10).topics[topic].partitions
    wanted = {TopicPartition(topic, number): OffsetSpec.latest() for number in partitions}

    def ends(isolation: IsolationLevel) -> list[int]:
        found = admin.list_offsets(wanted, isolation_level=isolation, request_timeout=10)
        return [found[place].result().offset for place in wanted]

    deadline = time.monotonic() + timeout
    while ends(IsolationLevel.READ_COMMITTED) != ends(IsolationLevel.READ_UNCOMMITTED):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@contextmanager
def shared_broker(directory: Path) -> Iterator[str]:
    """The address of the broker that all processes naming the same ``directory`` share."""
    directory.mkdir(parents=True, exist_ok=True)
    note = directory / "broker.json"
    with _locked(directory / "lock"):
        if note.exists():
            held = json.loads(note.read_text())
        else:
            # a process of pytest-xdist may end before the others that use the broker
            owner = os.getppid() if os.environ.get("PYTEST_XDIST_WORKER") else os.getpid()
            broker = KafkaBroker(directory / "broker").start(owner)
            held = {"address": broker.bootstrap_servers, "pid": broker.pid, "users": 0}
        held["users"] += 1
        note.write_text(json.dumps(held))
    try:
        yield held["address"]
    finally:
        with _locked(directory / "lock"):
            held = json.loads(note.read_text())
            held["users"] -= 1
            note.write_text(json.dumps(held))
            if held["users"] == 0:
                os.kill(held["pid"], signal.SIGTERM)
                note.unlink()


@contextmanager
def private_broker(
    settings: dict[str, str] | None = None, features: dict[str, int] | None = None
) -> Iterator[KafkaBroker]:
    """A broker of one's own, to be stopped and started at will; its files go with it, unless the
    block fails."""
    directory = Path(tempfile.mkdtemp(prefix="scurry-kafka-"))
    broker = KafkaBroker(directory, settings, features)
    try:
        with broker:
            yield broker
    except BaseException:
        print(f"the broker's log is kept in {broker.log}")
        raise
    shutil.rmtree(directory, ignore_errors=True)


def _stop_with(owner: int, broker: int) -> None:
    """Stop ``broker`` when ``owner`` has ended, however it did."""
    watch = f"while kill -0 {owner} && kill -0 {broker}; do sleep 1; done; kill {broker}"
    subprocess.Popen(
        ["sh", "-c", watch],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
