"""``scurry doctor --kafka host:port``: can jobs on this machine use that Kafka?

The usual causes are looked for one after the other: no such host, nobody listening, somebody who
is no Kafka broker or wants another security protocol, and brokers that announce an address which
cannot be reached from here, the commonest of all with containers.
"""

from __future__ import annotations

import socket

from scurry.cli.checks import Finding, Verdict

_SECONDS = 5.0


def check_kafka(address: str) -> Finding:
    """Whether the brokers behind ``address`` answer, each under the name it announces."""
    name = f"Kafka {address}"
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        return Finding(
            name, Verdict.FAIL, "not an address", "Give host and port, such as localhost:9092."
        )
    try:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient
    except ImportError:
        return Finding(
            name,
            Verdict.FAIL,
            "the package confluent-kafka is not installed",
            "Run: python -m pip install 'scurry[kafka]'",
        )
    failure = _refusal(host, int(port))
    if failure is not None:
        return Finding(
            name,
            Verdict.FAIL,
            f"no connection: {failure}",
            "Start the broker, or correct host and port; if a firewall lies between, open the "
            "port.",
        )
    settings = {"bootstrap.servers": address, "log_level": 0}
    try:
        cluster = AdminClient(settings).list_topics(timeout=_SECONDS)
    except KafkaException as silent:
        return Finding(
            name,
            Verdict.FAIL,
            f"somebody listens, but does not answer as a Kafka broker: {silent.args[0].str()}",
            "If the port is right it may want TLS or SASL: set security.protocol and what belongs "
            "to it with set_property in the program. This check speaks plain text only.",
        )
    for broker in cluster.brokers.values():
        failure = _refusal(broker.host, broker.port)
        if failure is not None:
            return Finding(
                name,
                Verdict.FAIL,
                f"broker {broker.id} announces itself as {broker.host}:{broker.port}, which cannot "
                f"be reached from here: {failure}",
                "Set advertised.listeners of the broker to an address that clients can reach.",
            )
    brokers, topics = len(cluster.brokers), len(cluster.topics)
    found = f"{brokers} broker{'s' * (brokers != 1)}, {topics} topic{'s' * (topics != 1)}"
    return Finding(name, Verdict.OK, found)


def _refusal(host: str, port: int) -> str | None:
    """Why no connection can be had, None if one can."""
    try:
        with socket.create_connection((host, port), timeout=_SECONDS):
            return None
    except OSError as failure:
        return failure.strerror or str(failure)
