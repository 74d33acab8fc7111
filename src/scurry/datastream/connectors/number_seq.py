"""Number sequences."""

from scurry.connectors.number_seq import NumberSequenceSource

__all__ = ["NumberSequenceSource"]
