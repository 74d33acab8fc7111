"""Number sequences."""

from __future__ import annotations

from scurry.connectors.number_seq import NumberSequenceSource

__all__ = ["NumberSequenceSource"]
