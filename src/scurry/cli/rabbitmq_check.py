"""``scurry doctor --rabbitmq``: can jobs reach this server, and log in?"""

from __future__ import annotations

from scurry.cli.checks import Finding, Verdict
from scurry.common.errors import ProgramError
from scurry.connectors.rabbitmq.config import RMQConnectionConfig, package
from scurry.connectors.rabbitmq.connection import connect, hang_up, reason_of

NAME = "RabbitMQ"


def check_rabbitmq(uri: str) -> Finding:
    """The server answers and takes user, password and virtual host."""
    try:
        package()
        builder = RMQConnectionConfig.Builder().set_uri(uri)
        config = builder.set_connection_timeout(5000).build()
    except ProgramError as failure:
        example = "Write: amqp://user:password@host:5672/%2f"
        return Finding(NAME, Verdict.FAIL, str(failure), example)
    try:
        connection = connect(config)
    except Exception as failure:
        return Finding(
            NAME,
            Verdict.FAIL,
            f"{config.server} cannot be used: {reason_of(failure)}",
            "Check host, port, user, password and virtual host (/ is written %2f); the user guest "
            "may connect from the server's own machine only.",
        )
    hang_up(connection)
    return Finding(NAME, Verdict.OK, config.server)
