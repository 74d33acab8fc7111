"""Redis."""

from __future__ import annotations

from scurry.connectors.redis import RedisSink

__all__ = ["RedisSink"]
