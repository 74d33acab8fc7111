"""What all connectors are."""

from scurry.functions.sink import Sink
from scurry.functions.source import Source

__all__ = ["Sink", "Source"]
