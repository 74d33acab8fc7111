"""The iterator that ``execute_and_collect`` returns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scurry.common.job_client import JobClient


class CloseableIterator(Iterator[Any]):
    """Elements as the job produces them; closing it stops the job."""

    def __init__(self, elements: Iterator[Any], client: JobClient) -> None:
        self._elements = elements
        self._client = client

    def __next__(self) -> Any:
        return next(self._elements)

    def next(self) -> Any:
        """The next element; raises StopIteration when there is none."""
        return next(self)

    def __iter__(self) -> CloseableIterator:
        return self

    def __enter__(self) -> CloseableIterator:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the job, if it is still running, and wait for its end."""
        self._client.cancel().result()
