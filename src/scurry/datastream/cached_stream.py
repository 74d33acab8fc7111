"""`CachedDataStream`: a stream that is computed once and read again by later jobs.

The first job that runs with it writes its records down beside everything else it does. Once that
job has ended well, later jobs of the same environment begin at those records instead of at the
sources. A stream whose job fails, or never ends, is computed again.
"""

from __future__ import annotations

from typing import NoReturn

from scurry.common.errors import NotSupportedError
from scurry.common.job_client import JobClient
from scurry.connectors.cache import CacheSink, CacheSource
from scurry.datastream.plain_stream import DataStream
from scurry.datastream.transformation import Transformation
from scurry.plan import nodes

__all__ = ["CachedDataStream", "StreamCache"]


class StreamCache:
    """The records of one step, if a job has written them down."""

    def __init__(self, step: Transformation) -> None:
        self.step = step
        self._sink: CacheSink | None = None
        self._job: JobClient | None = None

    def source(self) -> Transformation | None:
        """What stands in for the step: a source of its records, None if there are none yet."""
        if self._sink is None or self._job is None or not self._job.ended_well:
            return None
        source = CacheSource(self._sink, self.step.type_info)
        return Transformation(
            nodes.Source, f"Cache: {self.step.name}", (), self.step.type_info, source=source
        )

    def writer(self) -> Transformation:
        """A step for the next job that writes the records down."""
        self.invalidate()
        self._sink = CacheSink()
        return Transformation(nodes.Sink, f"Cache: {self.step.name}", [self.step], sink=self._sink)

    def written_by(self, job: JobClient) -> None:
        """The job that runs with :meth:`writer`."""
        self._job = job

    def invalidate(self) -> None:
        """Forget the records."""
        if self._sink is not None:
            self._sink.delete()
        self._sink = self._job = None


class CachedDataStream(DataStream):
    """A stream whose records are kept. What it is called and how parallel it is was settled before
    it was cached."""

    _cache: StreamCache

    def invalidate(self) -> None:
        """Delete the records; they are computed and kept again when they are next needed."""
        self._cache.invalidate()

    def cache(self) -> CachedDataStream:
        """The stream itself."""
        return self

    def get_name(self) -> str:
        """Refused, as all that names the operator."""
        self._operator("get_name")

    def _operator(self, method: str) -> NoReturn:
        raise NotSupportedError(
            f"{method}() of a cached stream ({self._transformation.location}): call it before "
            "cache()."
        )
