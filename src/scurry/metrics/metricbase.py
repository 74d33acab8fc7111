"""What functions count and measure themselves.

A function asks its runtime context for a :class:`MetricGroup` in ``open`` and registers metrics
there. Each instance updates its own; after every micro-batch the driver puts the instances of an
operator together, and ``JobClient.get_metrics()`` shows the result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass


class Metric:
    """Anything that can be registered in a group."""


class Counter(Metric, ABC):
    """A number that goes up and down; the job's is the sum over all instances."""

    @abstractmethod
    def inc(self, n: int = 1) -> None:
        """Add ``n``."""

    @abstractmethod
    def dec(self, n: int = 1) -> None:
        """Take ``n`` away."""

    @abstractmethod
    def get_count(self) -> int:
        """What this instance has counted since it was opened."""


class Meter(Metric, ABC):
    """Counts events, and shows how many there are per second."""

    @abstractmethod
    def mark_event(self, value: int = 1) -> None:
        """``value`` events have happened."""

    @abstractmethod
    def get_count(self) -> int:
        """The events this instance has marked since it was opened."""


class Distribution(Metric, ABC):
    """Sum, count, least and greatest of the values given to it."""

    @abstractmethod
    def update(self, value: float) -> None:
        """Take a value in."""


class MetricGroup(ABC):
    """Where metrics are registered. Names are unique within an operator and group; registering
    a name again gives the metric that is there."""

    @abstractmethod
    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """The group ``name`` below this one; with ``extra``, the group of value ``extra`` below
        the key ``name``."""

    @abstractmethod
    def counter(self, name: str) -> Counter:
        """A counter of that name."""

    @abstractmethod
    def gauge(self, name: str, obj: Callable[[], float]) -> None:
        """A number that ``obj`` returns whenever it is asked, once per micro-batch; the job's is
        the sum over all instances."""

    @abstractmethod
    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        """A meter of that name, whose rate is taken over the last so many seconds."""

    @abstractmethod
    def distribution(self, name: str) -> Distribution:
        """A distribution of that name."""


@dataclass(frozen=True)
class MeterStatistics:
    """A meter as the driver shows it."""

    count: int
    #: events per second
    rate: float


@dataclass(frozen=True)
class DistributionStatistics:
    """A distribution as the driver shows it."""

    sum: float
    count: int
    min: float
    max: float

    @property
    def mean(self) -> float:
        """The arithmetic mean."""
        return self.sum / self.count
