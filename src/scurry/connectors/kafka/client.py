"""Settings of Kafka's clients, and patience with brokers that are away.

Programs written for Flink give the Java client's property names. Most of them are also names of
librdkafka, the client below ``confluent-kafka``; a few are translated here, those that only make
sense in a JVM are left out, and the rest is passed on as it is. Values may be secrets, so settings
never show them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any

from scurry.common.errors import ConfigurationError
from scurry.connectors.patience import Vigil

log = logging.getLogger("scurry.kafka")

#: What Flink's own connector takes out of the properties.
FLINK_KEYS = frozenset(
    {
        "partition.discovery.interval.ms",
        "commit.offsets.on.checkpoint",
        "register.consumer.metrics",
        "register.producer.metrics",
        "client.id.prefix",
    }
)
#: Settings of the Java client without a counterpart here.
_JAVA_ONLY = frozenset(
    {
        "key.deserializer",
        "value.deserializer",
        "key.serializer",
        "value.serializer",
        "max.poll.records",
        "interceptor.classes",
        "metric.reporters",
        "default.api.timeout.ms",
        "buffer.memory",
        "max.block.ms",
        "exclude.internal.topics",
    }
)
#: Defaults of every client. A request for one partition does not wait until the broker has answered
#: that for another.
_ALWAYS = {"socket.nagle.disable": "true"}
_RENAMED = {"fetch.max.wait.ms": "fetch.wait.max.ms"}
_JAAS = re.compile(r"""\b(username|password)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


class ClientSettings:
    """The settings of a client: a mapping that can be pickled but does not show its values."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._values = translate(properties)

    @property
    def servers(self) -> str:
        """The bootstrap servers, for messages."""
        return self._values.get("bootstrap.servers", "")

    def with_defaults(self, **defaults: Any) -> dict[str, Any]:
        """All settings, with ``defaults`` (``_`` for ``.``) for what the user left open."""
        named = {key.replace("_", "."): value for key, value in defaults.items()}
        return {"log_level": 2, **_ALWAYS, **named, **self._values}

    def get(self, key: str, default: str) -> str:
        """One setting."""
        return self._values.get(key, default)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClientSettings) and self._values == other._values

    def __hash__(self) -> int:
        return hash(tuple(sorted(self._values.items())))

    def __repr__(self) -> str:
        return f"ClientSettings(servers={self.servers!r}, {len(self._values)} settings)"


def translate(properties: Mapping[str, str]) -> dict[str, str]:
    """The client's settings for properties as a Flink program gives them."""
    found: dict[str, str] = {}
    for key, value in properties.items():
        if key in FLINK_KEYS:
            continue
        if key in _JAVA_ONLY:
            log.info("the property %s concerns the Java client only and is left out", key)
        elif key == "sasl.jaas.config":
            found.update(_credentials(value))
        elif key.startswith("ssl.truststore."):
            raise ConfigurationError(
                f"The property {key!r} names a Java trust store, which this client cannot read. "
                "Give the certificates as a PEM file in 'ssl.ca.location'."
            )
        else:
            found[_RENAMED.get(key, key)] = str(value)
    return found


def _credentials(jaas: str) -> dict[str, str]:
    held = {name: double or single for name, double, single in _JAAS.findall(jaas)}
    if held.keys() != {"username", "password"}:
        raise ConfigurationError(
            "The property 'sasl.jaas.config' names no username and password. Set "
            "'sasl.username' and 'sasl.password' instead, or what the mechanism needs."
        )
    return {f"sasl.{name}": value for name, value in held.items()}


def make(kind: str, settings: dict[str, Any]) -> Any:
    """A ``Consumer``, ``Producer`` or ``AdminClient``; a wrong setting is named."""
    try:
        import confluent_kafka
        from confluent_kafka import admin
    except ImportError:
        raise ConfigurationError(
            "Kafka needs the package confluent-kafka: pip install 'scurry[kafka]'."
        ) from None
    factory = admin.AdminClient if kind == "AdminClient" else getattr(confluent_kafka, kind)
    try:
        return factory(settings)
    except confluent_kafka.KafkaException as wrong:
        raise ConfigurationError(
            f"Kafka's client refuses its settings: {wrong.args[0].str()}"
        ) from None


class Patience(Vigil):
    """Says that a broker is awaited."""

    def __init__(self, servers: str, purpose: str) -> None:
        super().__init__(f"Kafka at {servers}", purpose, log)


def is_hopeless(error: Any) -> bool:
    """Whether waiting cannot mend this error of Kafka's."""
    from confluent_kafka import KafkaError

    return error.code() in (
        KafkaError._AUTHENTICATION,
        KafkaError._SSL,
        KafkaError._INVALID_ARG,
        KafkaError._UNSUPPORTED_FEATURE,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.UNSUPPORTED_SASL_MECHANISM,
        KafkaError.INVALID_TRANSACTION_TIMEOUT,
    )


def is_refusal(error: Any) -> bool:
    """Whether the brokers will never take this record."""
    from confluent_kafka import KafkaError

    return error.code() in (
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.TOPIC_EXCEPTION,
        KafkaError.INVALID_RECORD,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
    )
