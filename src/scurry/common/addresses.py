"""Addresses and ports at which a job listens, as configurations give them."""

from __future__ import annotations

import ipaddress

from scurry.common.errors import ConfigurationError

_GREATEST_PORT = 65_535


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach ``host``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def ports_of(key: str, wanted: str) -> range:
    """The ports that a text such as ``9249`` or ``9250-9260``, set under ``key``, stands for."""
    first, dash, last = (part.strip() for part in wanted.partition("-"))
    last = last if dash else first
    if first.isdigit() and last.isdigit():
        ports = range(int(first), int(last) + 1)
        if ports and ports[-1] <= _GREATEST_PORT:
            return ports
    raise ConfigurationError(
        f"{key} is {wanted!r}; it must be a port such as 9249, or a range such as 9250-9260, up to "
        f"{_GREATEST_PORT}."
    )
