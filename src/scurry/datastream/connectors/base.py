"""What all connectors are."""

from __future__ import annotations

from scurry.functions.preprocessing import StreamTransformer, SupportsPreprocessing
from scurry.functions.sink import DeliveryGuarantee, Sink
from scurry.functions.source import Source

__all__ = [
    "DeliveryGuarantee",
    "Sink",
    "Source",
    "StreamTransformer",
    "SupportsPreprocessing",
]
