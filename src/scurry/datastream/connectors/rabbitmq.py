"""RabbitMQ, under the module name PyFlink has for it."""

from __future__ import annotations

from scurry.connectors.rabbitmq.config import RMQConnectionConfig
from scurry.connectors.rabbitmq.sink import RMQSink
from scurry.connectors.rabbitmq.source import RMQSource

__all__ = ["RMQConnectionConfig", "RMQSink", "RMQSource"]
