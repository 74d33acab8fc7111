"""Who writes the transactions of an exactly-once sink: its tasks, or the driver.

Tasks can write in transactions of their own if the driver can commit these. For that it needs
requests that librdkafka does not offer, which brokers know from Kafka 3.0 on, and connections that
are made with the sink's security settings (:mod:`scurry.connectors.kafka.security`).
"""

from __future__ import annotations

import time

from scurry.common.errors import ConfigurationError
from scurry.connectors.kafka.client import ClientSettings, log
from scurry.connectors.kafka.coordinators import Coordinators
from scurry.connectors.kafka.security import AuthenticationFailed
from scurry.connectors.kafka.wire import Unreachable

AUTO, TASKS, DRIVER = "auto", "tasks", "driver"
#: How long a job that starts waits for brokers before it goes on without having asked them.
_START_SECONDS = 30.0
_PAUSE_SECONDS = 0.5


def tasks_can_write(settings: ClientSettings, wanted: str) -> bool:
    """Whether tasks are to write, and say so in the log. Raises
    :class:`~scurry.common.errors.ConfigurationError` if they are wanted to and cannot."""
    if wanted == DRIVER:
        return False
    reason = _why_not(settings)
    if not reason:
        log.info("Kafka at %s: each task writes in transactions of its own", settings.servers)
        return True
    if wanted == TASKS:
        raise ConfigurationError(
            f"The tasks of a sink to Kafka at {settings.servers} cannot write in transactions of "
            f"their own: {reason}. Call set_transaction_writers('driver'), or leave it out."
        )
    log.warning(
        "Kafka at %s: the driver writes all records of exactly-once sinks, since tasks cannot "
        "write in transactions of their own: %s",
        *(settings.servers, reason),
    )
    return False


def _why_not(settings: ClientSettings) -> str:
    """Why tasks cannot write, empty if they can."""
    coordinators = Coordinators(settings, "start")
    deadline = time.monotonic() + _START_SECONDS
    try:
        while True:
            try:
                return coordinators.lacking()
            except Unreachable as away:
                if time.monotonic() > deadline:
                    return f"no broker answers ({away})"
                time.sleep(_PAUSE_SECONDS)
            except AuthenticationFailed as failure:
                return f"the brokers refuse the sink's user ({failure})"
    finally:
        coordinators.close()
