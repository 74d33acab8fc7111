"""Connections to RabbitMQ, each with one channel for one queue.

Channels are transactional: what is published or acknowledged counts when ``tx_commit`` returns, and
then it is certain. A queue that is there is used as it is; one that is not is made, durable.
"""

from __future__ import annotations

import contextlib
from typing import Any

from scurry.connectors.rabbitmq.config import RMQConnectionConfig, package

#: What a server answers that waiting will not change: access refused, no such virtual host.
_HOPELESS = (403, 530)
_NOT_FOUND = 404
#: How long a server that is short of memory or disk may refuse to take anything.
_BLOCKED_SECONDS = 30.0


def connect(config: RMQConnectionConfig) -> Any:
    """A new connection, which belongs to the thread that uses it."""
    pika = package()
    if config.get_uri() is not None:
        parameters = pika.URLParameters(config.get_uri())
    else:
        parameters = pika.ConnectionParameters(
            config.get_host(),
            config.get_port(),
            config.get_virtual_host(),
            pika.PlainCredentials(config.get_user_name(), config.get_password()),
        )
    parameters.blocked_connection_timeout = _BLOCKED_SECONDS
    timeout = config.get_connection_timeout()
    wanted = {
        "heartbeat": config.get_requested_heartbeat(),
        # 0 is the Java client's word for "no limit", which is what there is without these
        "frame_max": config.get_requested_frame_max() or None,
        "channel_max": config.get_requested_channel_max() or None,
        "socket_timeout": timeout / 1000 if timeout else None,
        "stack_timeout": timeout / 1000 if timeout else None,
    }
    for name, value in wanted.items():
        if value is not None:
            setattr(parameters, name, value)
    return pika.BlockingConnection(parameters)


def open_queue(connection: Any, queue: str) -> Any:
    """A transactional channel of ``connection``; the queue is there."""
    channel = connection.channel()
    try:
        channel.queue_declare(queue, passive=True)
    except package().exceptions.ChannelClosedByBroker as refusal:
        if refusal.reply_code != _NOT_FOUND:
            raise
        channel = connection.channel()
        channel.queue_declare(queue, durable=True)
    channel.tx_select()
    return channel


def hang_up(connection: Any) -> None:
    """Close a connection, in whatever state it is."""
    with contextlib.suppress(package().exceptions.AMQPError, OSError):
        connection.close()


def is_passing(failure: BaseException) -> bool:
    """Whether a server that fails like this may be back."""
    exceptions = package().exceptions
    hopeless = (exceptions.ProbableAuthenticationError, exceptions.ProbableAccessDeniedError)
    refused = getattr(failure, "reply_code", 0) in _HOPELESS
    passing = (exceptions.AMQPError, OSError)
    return isinstance(failure, passing) and not isinstance(failure, hopeless) and not refused


def reason_of(failure: BaseException) -> str:
    """One line about a failure: pika wraps what matters, and some of its errors have no text."""
    while failure.args and isinstance(failure.args[0], BaseException):
        failure = failure.args[0]
    inner = getattr(failure, "exception", None)
    text = str(inner if isinstance(inner, BaseException) else failure).strip()
    return (text or type(failure).__name__).splitlines()[0].rstrip(".")
