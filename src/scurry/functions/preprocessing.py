"""Sinks that want the stream prepared before it reaches them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = ["StreamTransformer", "SupportsPreprocessing"]


class StreamTransformer(ABC):
    """What prepares a stream."""

    @abstractmethod
    def apply(self, ds: Any) -> Any:
        """Called when the program is built, with the stream; returns the stream that the sink
        shall get."""


class SupportsPreprocessing(ABC):
    """Implemented by a sink that has a transformer."""

    @abstractmethod
    def get_transformer(self) -> StreamTransformer | None:
        """Called by ``sink_to``; None leaves the stream as it is."""
