"""Delta Lake."""

from __future__ import annotations

from scurry.connectors.delta import DeltaSink

__all__ = ["DeltaSink"]
