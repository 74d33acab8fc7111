"""Records posted to us."""

from __future__ import annotations

from scurry.connectors.push import PushSource

__all__ = ["PushSource"]
