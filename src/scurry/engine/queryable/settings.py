"""What the configuration says about queries, checked before the job starts."""

from __future__ import annotations

from dataclasses import dataclass, field

from scurry.common.addresses import is_loopback, ports_of
from scurry.common.configuration import Configuration
from scurry.common.errors import ConfigurationError
from scurry.common.options.queryable import (
    QUERY_HOST,
    QUERY_LINGER,
    QUERY_PORTS,
    QUERY_TOKEN,
    QUERYABLE,
    VIEW_DIRECTORY,
)


@dataclass(frozen=True)
class QuerySettings:
    """Where queries are answered, and where the view lies."""

    host: str
    ports: range
    #: not shown where the settings are
    token: str = field(repr=False)
    #: milliseconds
    linger: int
    directory: str

    @classmethod
    def of(cls, configuration: Configuration) -> QuerySettings | None:
        """What the configuration says; None if queries are not to be answered."""
        if not QUERYABLE.read(configuration):
            return None
        host, token = QUERY_HOST.read(configuration), QUERY_TOKEN.read(configuration)
        if not token and not is_loopback(host):
            raise ConfigurationError(
                f"{QUERY_HOST.key} is {host!r}, which other machines can reach. Set "
                f"{QUERY_TOKEN.key} to a secret that queries send, or leave {QUERY_HOST.key} at "
                "127.0.0.1."
            )
        ports = ports_of(QUERY_PORTS.key, QUERY_PORTS.read(configuration))
        linger, place = QUERY_LINGER.read(configuration), VIEW_DIRECTORY.read(configuration)
        return cls(host, ports, token, linger, place)
