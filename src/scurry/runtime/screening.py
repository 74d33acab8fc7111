"""Keyed functions that look at a whole batch before they are called for its elements."""

from __future__ import annotations

from abc import ABC, abstractmethod

from scurry.runtime.batch import Batch


class BatchScreen(ABC):
    """A keyed function of Scurry's own that need not be called for every element."""

    @abstractmethod
    def screened(self, batch: Batch, watermark: int) -> Batch:
        """Called with each batch of records, and with the watermark in force before it; returns
        those that the function has to be called for. It is called for each of them once, in
        order, before the next batch comes."""
