"""Records posted to an address."""

from __future__ import annotations

from scurry.connectors.webhook import WebhookSink

__all__ = ["WebhookSink"]
