"""Transactions of tasks with brokers of one's own: secured, killed and restarted, or two of them.

The connections over which the driver ends transactions are Scurry's own, so passwords, certificates
and coordinators that move are tried out here with real brokers.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic
from tests.kafka.conftest import Topics
from tests.kafka.test_task_transactions import started

from scurry.common.errors import JobError
from scurry.connectors.kafka.client import ClientSettings
from scurry.connectors.kafka.coordinators import Coordinators
from scurry.connectors.kafka.wire import Unreachable
from scurry.functions.sink import WriterContext
from scurry.testing.kafka import KafkaBroker
from scurry.testing.servers import free_port

PASSWORD = "se,cr=et"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_MODULES = "org.apache.kafka.common.security"


def certificate(directory: Path) -> Path:
    """A certificate of 127.0.0.1 that vouches for itself, and its key in the same file."""
    key, made, both = directory / "key.pem", directory / "ca.pem", directory / "both.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-keyout", str(key), "-out", str(made), "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True)
    both.write_text(key.read_text() + made.read_text())
    return made


class SecureBroker(KafkaBroker):
    """A broker that also listens for TLS with passwords."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.secure = f"127.0.0.1:{free_port()}"
        self.authority = certificate(directory)
        listeners = {
            "listeners": f"SAFE://{self.secure}",
            "advertised.listeners": f"SAFE://{self.secure}",
            "listener.security.protocol.map": "SAFE:SASL_SSL",
        }
        plain = self._properties()
        self._settings = {key: f"{plain[key]},{more}" for key, more in listeners.items()}
        self._settings |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(directory / "both.pem"),
            "listener.name.safe.sasl.enabled.mechanisms": ",".join(MECHANISMS),
            "listener.name.safe.plain.sasl.jaas.config": f"{_MODULES}.plain.PlainLoginModule "
            f'required user_ann="{PASSWORD}";',
        }
        for mechanism in MECHANISMS[1:]:
            key = f"listener.name.safe.{mechanism.lower()}.sasl.jaas.config"
            self._settings[key] = f"{_MODULES}.scram.ScramLoginModule required;"

    def add_user(self) -> None:
        """Have the broker know a password for SCRAM."""
        from confluent_kafka.admin import (
            ScramCredentialInfo,
            ScramMechanism,
            UserScramCredentialUpsertion,
        )

        admin = self.admin()
        for kind in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            info = ScramCredentialInfo(kind, 4096)
            wanted = UserScramCredentialUpsertion("ann", info, password=PASSWORD.encode())
            admin.alter_user_scram_credentials([wanted])["ann"].result(20)

    def settings(self, mechanism: str) -> dict[str, str]:
        return {
            "bootstrap_servers": self.secure,
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": mechanism,
            "sasl_username": "ann",
            "sasl_password": PASSWORD,
            "ssl_ca_location": str(self.authority),
        }


@pytest.fixture(scope="module")
def secure(
    kafka_installed: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SecureBroker]:
    with SecureBroker(tmp_path_factory.mktemp("secure")) as broker:
        broker.add_user()
        yield broker


def client(secure: SecureBroker, mechanism: str, **other: str) -> Coordinators:
    properties = {**secure.settings(mechanism), **other}
    named = {key.replace("_", "."): value for key, value in properties.items()}
    return Coordinators(ClientSettings(named), "test")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_passwords_and_certificates(secure: SecureBroker, mechanism: str) -> None:
    topics = Topics(secure.bootstrap_servers)
    topic = topics.create()
    driver = started(topics, topic, **secure.settings(mechanism))
    writer = driver.create_writer(WriterContext("s", 0, 1))
    writer.write(["safe"])
    driver.commit(0, [writer.prepare()])
    assert topics.values(topic) == [b"safe"]
    writer.close()
    driver.close()
    wrong = client(secure, mechanism, sasl_password="guess")
    with pytest.raises(JobError, match="refuses the sink's user: ") as refused:
        wrong.ongoing()
    assert "guess" not in str(refused.value)


def test_a_certificate_that_nobody_vouches_for(secure: SecureBroker, tmp_path: Path) -> None:
    other = certificate(tmp_path)
    with pytest.raises(Unreachable, match="certificate verify failed"):
        client(secure, "PLAIN", ssl_ca_location=str(other)).lacking()
    careless = client(
        *(secure, "PLAIN"),
        ssl_ca_location=str(other),
        enable_ssl_certificate_verification="false",
    )
    assert careless.lacking() == ""


def test_a_broker_that_is_killed_between_promise_and_commit(secure: SecureBroker) -> None:
    topics = Topics(secure.bootstrap_servers)
    topic = topics.create()
    driver = started(topics, topic)
    writer = driver.create_writer(WriterContext("s", 0, 1))
    writer.write([str(n) for n in range(100)])
    message = writer.prepare()
    secure.stop(kill=True)
    secure.start()
    driver.commit(0, [message])
    assert len(topics.values(topic)) == 100
    writer.write(["and on"])
    driver.commit(1, [writer.prepare()])
    assert len(topics.values(topic)) == 101
    driver.close()


@pytest.fixture
def pair(kafka_installed: None, tmp_path: Path) -> Iterator[tuple[KafkaBroker, KafkaBroker]]:
    """A cluster of two; the first is the controller."""
    state = {
        "transaction.state.log.replication.factor": "2",
        "transaction.state.log.num.partitions": "8",
        "offsets.topic.replication.factor": "2",
    }
    first = KafkaBroker(tmp_path / "1", state)
    second = KafkaBroker(tmp_path / "2", state)
    second._settings = {
        **state,
        "process.roles": "broker",
        "node.id": "2",
        "controller.quorum.voters": first._properties()["controller.quorum.voters"],
        "listeners": f"PLAINTEXT://{second.bootstrap_servers}",
    }
    with first, second:
        yield first, second


def test_a_coordinator_that_moves(pair: tuple[KafkaBroker, KafkaBroker]) -> None:
    first, second = pair
    topics = Topics(first.bootstrap_servers)
    topic = "on-the-first"
    topics.admin.create_topics([NewTopic(topic, 1, replica_assignment=[[1]])])[topic].result(20)
    driver = started(topics, topic)
    writers: list[Any] = []
    messages: list[Any] = []
    places = Coordinators(ClientSettings({"bootstrap.servers": first.bootstrap_servers}), "test")
    # transactional ids are spread by their hash
    while not any(_at(places, each, second) for each in messages):
        assert len(messages) < 40
        writers.append(driver.create_writer(WriterContext("s", len(writers), 40)))
        writers[-1].write([str(len(writers))])
        messages.append(writers[-1].prepare())
    # the driver knows where the coordinators are, and then they are elsewhere
    assert driver._tickets is not None
    driver._tickets._coordinators.describe(each["transactional_id"] for each in messages)
    second.stop(kill=True)
    driver.commit(0, messages)
    assert len(topics.values(topic)) == len(messages)
    driver.close()


def _at(places: Coordinators, message: dict[str, Any], broker: KafkaBroker) -> bool:
    places.describe([message["transactional_id"]])
    host, port = places._place(message["transactional_id"])
    return f"{host}:{port}" == broker.bootstrap_servers
