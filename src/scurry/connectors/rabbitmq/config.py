"""How to reach a RabbitMQ server, under the names PyFlink has for it.

Times are what the Java client takes: milliseconds, but seconds between heartbeats. What is not set
is None, and left to the client.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from scurry.common.errors import ProgramError

__all__ = ["RMQConnectionConfig", "RMQConnectionConfigBuilder", "package"]

_NEEDED = ("host", "port", "virtual_host", "user_name", "password")
#: The most messages a server can be told to hand out before they are acknowledged.
_MOST_PREFETCHED = 65_535


def package() -> Any:
    """The package pika."""
    try:
        import pika
    except ImportError:
        raise ProgramError(
            "RabbitMQ needs the package pika. Run: python -m pip install 'scurry[rabbitmq]'"
        ) from None
    # pika tells of every failed attempt at length; connectors say what there is to say
    logging.getLogger("pika").setLevel(logging.CRITICAL)
    return pika


class RMQConnectionConfigBuilder:
    """Collects settings: a URI, or host, port, virtual host, user and password."""

    def __init__(self) -> None:
        self._settings: dict[str, Any] = {}

    def _set(self, name: str, value: Any) -> RMQConnectionConfigBuilder:
        self._settings[name] = value
        return self

    def set_port(self, port: int) -> RMQConnectionConfigBuilder:
        """The server's port, usually 5672."""
        return self._set("port", port)

    def set_host(self, host: str) -> RMQConnectionConfigBuilder:
        """The server's host."""
        return self._set("host", host)

    def set_virtual_host(self, vhost: str) -> RMQConnectionConfigBuilder:
        """The virtual host, ``"/"`` unless somebody made another."""
        return self._set("virtual_host", vhost)

    def set_user_name(self, user_name: str) -> RMQConnectionConfigBuilder:
        """Who connects."""
        return self._set("user_name", user_name)

    def set_password(self, password: str) -> RMQConnectionConfigBuilder:
        """The password; it stays on the driver."""
        return self._set("password", password)

    def set_uri(self, uri: str) -> RMQConnectionConfigBuilder:
        """All five in one: ``amqp://user:password@host:5672/%2f``, or ``amqps://`` for TLS."""
        return self._set("uri", uri)

    def set_topology_recovery_enabled(
        self, topology_recovery_enabled: bool
    ) -> RMQConnectionConfigBuilder:
        """Every new connection declares its queue where that is missing, whatever is said here."""
        return self._set("topology_recovery", topology_recovery_enabled)

    def set_requested_heartbeat(self, requested_heartbeat: int) -> RMQConnectionConfigBuilder:
        """Seconds between two signs of life; 0 for none."""
        return self._set("requested_heartbeat", requested_heartbeat)

    def set_requested_frame_max(self, requested_frame_max: int) -> RMQConnectionConfigBuilder:
        """The largest frame, in bytes."""
        return self._set("requested_frame_max", requested_frame_max)

    def set_requested_channel_max(self, requested_channel_max: int) -> RMQConnectionConfigBuilder:
        """The most channels; one is used."""
        return self._set("requested_channel_max", requested_channel_max)

    def set_network_recovery_interval(
        self, network_recovery_interval: int
    ) -> RMQConnectionConfigBuilder:
        """Milliseconds between two attempts of a source to connect; 1000 without this."""
        return self._set("network_recovery_interval", network_recovery_interval)

    def set_connection_timeout(self, connection_timeout: int) -> RMQConnectionConfigBuilder:
        """Milliseconds that an attempt to connect may take."""
        return self._set("connection_timeout", connection_timeout)

    def set_automatic_recovery(self, automatic_recovery: bool) -> RMQConnectionConfigBuilder:
        """Whether a server that is away is waited for, as it is without this; if not, the job
        fails, and its restart strategy decides."""
        return self._set("automatic_recovery", automatic_recovery)

    def set_prefetch_count(self, prefetch_count: int) -> RMQConnectionConfigBuilder:
        """The most messages a source holds that are not acknowledged, and so the most of one
        micro-batch; 10000 without this."""
        if not 1 <= prefetch_count <= _MOST_PREFETCHED:
            raise ProgramError(
                f"set_prefetch_count takes 1 to {_MOST_PREFETCHED}, got {prefetch_count!r}: all "
                "these messages are in the driver's memory."
            )
        return self._set("prefetch_count", prefetch_count)

    def build(self) -> RMQConnectionConfig:
        """The configuration."""
        if self._settings.get("uri") is None:
            missing = [name for name in _NEEDED if self._settings.get(name) is None]
            if missing:
                raise ProgramError(
                    f"RMQConnectionConfig does not say the {missing[0].replace('_', ' ')}: call "
                    f"set_{missing[0]}, or set_uri instead of all."
                )
        elif urlsplit(self._settings["uri"]).scheme not in ("amqp", "amqps"):
            raise ProgramError(
                "RMQConnectionConfig.set_uri takes 'amqp://user:password@host:5672/%2f' or "
                "'amqps://...', got a URI that begins with "
                f"{urlsplit(self._settings['uri']).scheme!r}."
            )
        return RMQConnectionConfig(self._settings)


class RMQConnectionConfig:
    """How to reach a server; made with :class:`RMQConnectionConfig.Builder`."""

    Builder = RMQConnectionConfigBuilder

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = dict(settings)

    def get_host(self) -> str | None:
        """The server's host."""
        return self._settings.get("host")

    def get_port(self) -> int | None:
        """The server's port."""
        return self._settings.get("port")

    def get_virtual_host(self) -> str | None:
        """The virtual host."""
        return self._settings.get("virtual_host")

    def get_user_name(self) -> str | None:
        """Who connects."""
        return self._settings.get("user_name")

    def get_password(self) -> str | None:
        """The password."""
        return self._settings.get("password")

    def get_uri(self) -> str | None:
        """The URI, if that was given."""
        return self._settings.get("uri")

    def get_network_recovery_interval(self) -> int | None:
        """Milliseconds between two attempts to connect."""
        return self._settings.get("network_recovery_interval")

    def is_automatic_recovery(self) -> bool | None:
        """Whether a server that is away is waited for."""
        return self._settings.get("automatic_recovery")

    def is_topology_recovery(self) -> bool | None:
        """What was set; queues are declared again in any case."""
        return self._settings.get("topology_recovery")

    def get_connection_timeout(self) -> int | None:
        """Milliseconds that an attempt to connect may take."""
        return self._settings.get("connection_timeout")

    def get_requested_channel_max(self) -> int | None:
        """The most channels."""
        return self._settings.get("requested_channel_max")

    def get_requested_frame_max(self) -> int | None:
        """The largest frame, in bytes."""
        return self._settings.get("requested_frame_max")

    def get_requested_heartbeat(self) -> int | None:
        """Seconds between two signs of life."""
        return self._settings.get("requested_heartbeat")

    def get_prefetch_count(self) -> int | None:
        """The most messages that are not acknowledged."""
        return self._settings.get("prefetch_count")

    @property
    def server(self) -> str:
        """The server's name in messages, without the password."""
        host, port, uri = self.get_host(), self.get_port(), self.get_uri()
        if uri is not None:
            parts = urlsplit(uri)
            host, port = parts.hostname, parts.port or (5671 if parts.scheme == "amqps" else 5672)
        return f"RabbitMQ at {host}:{port}"

    def __repr__(self) -> str:
        return f"RMQConnectionConfig({self.server})"
