"""Functions' metrics on their way to the driver: what changed in each micro-batch, then the sum.

Instances report differences, so that an instance that is made anew in another worker goes on where
the last one stopped, and a micro-batch that is run again counts once: the report of an attempt that
was not committed never arrives.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter as Tally
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from scurry.common.errors import ProgramError, TypeMismatchError
from scurry.metrics.metricbase import (
    Counter,
    Distribution,
    DistributionStatistics,
    Meter,
    MeterStatistics,
    Metric,
    MetricGroup,
)
from scurry.runtime.failures import NO_ELEMENT, function_error
from scurry.runtime.specs import OperatorSpec

M = TypeVar("M", bound="Reported")
#: One metric of one instance in one micro-batch: uid, name, kind, content.
Line = tuple[str, str, str, Any]


class Reported(Metric, ABC):
    """A metric that knows what it has to report."""

    kind: str

    @abstractmethod
    def report(self) -> Any:
        """What changed since the last report, None if there is nothing to say."""


class ReportedCounter(Reported, Counter):
    """A counter in a task."""

    kind = "counter"

    def __init__(self) -> None:
        self._count = 0
        self._told = 0
        self._new = True

    def inc(self, n: int = 1) -> None:
        self._count += n

    def dec(self, n: int = 1) -> None:
        self._count -= n

    def get_count(self) -> int:
        return self._count

    def report(self) -> Any:
        change, self._told = self._count - self._told, self._count
        fresh, self._new = self._new, False
        return change if change or fresh else None


class ReportedMeter(ReportedCounter, Meter):
    """A meter in a task: the rate is the driver's business."""

    kind = "meter"

    def __init__(self, span: int) -> None:
        super().__init__()
        self._span = span

    def mark_event(self, value: int = 1) -> None:
        self._count += value

    def report(self) -> Any:
        change = super().report()
        return None if change is None else (change, self._span)


class ReportedGauge(Reported):
    """A gauge in a task."""

    kind = "gauge"

    def __init__(self, ask: Callable[[], float]) -> None:
        self._ask = ask

    def report(self) -> Any:
        value = self._ask()
        if isinstance(value, (int, float)):
            return value
        raise TypeMismatchError(
            f"a gauge returned {value!r} ({type(value).__name__}); it must return a number"
        )


class ReportedDistribution(Reported, Distribution):
    """A distribution in a task."""

    kind = "distribution"

    def __init__(self) -> None:
        self._held: tuple[float, int, float, float] | None = None

    def update(self, value: float) -> None:
        held = self._held
        if held is None:
            self._held = (value, 1, value, value)
        else:
            total, count, least, most = held
            self._held = (total + value, count + 1, min(least, value), max(most, value))

    def report(self) -> Any:
        held, self._held = self._held, None
        return held


class MetricRegistry:
    """All metrics of a task's functions."""

    def __init__(self) -> None:
        self._metrics: dict[tuple[str, str], tuple[OperatorSpec, Reported]] = {}

    def group(self, spec: OperatorSpec) -> MetricGroup:
        """The root group of an operator."""
        return RegisteredGroup(self, spec, "")

    def register(self, spec: OperatorSpec, name: str, metric: M) -> M:
        """``metric``, or the one that has its name already."""
        _, held = self._metrics.setdefault((spec.uid, name), (spec, metric))
        if type(held) is not type(metric):
            raise ProgramError(
                f"{spec.name!r} registers the metric {name!r} as a {metric.kind}, but has it as a "
                f"{held.kind} already; give each metric its own name."
            )
        return held

    def report(self) -> list[Line]:
        """What changed since the last report, of all metrics."""
        lines: list[Line] = []
        for (uid, name), (spec, metric) in self._metrics.items():
            try:
                content = metric.report()
            except Exception as failure:
                where = f"{metric.kind} {name} of {spec.name}"
                raise function_error(where, uid, spec.location, NO_ELEMENT, failure) from failure
            if content is not None:
                lines.append((uid, name, metric.kind, content))
        return lines


class RegisteredGroup(MetricGroup):
    """A group whose metrics are reported."""

    def __init__(self, registry: MetricRegistry, spec: OperatorSpec, prefix: str) -> None:
        self._registry = registry
        self._spec = spec
        self._prefix = prefix

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        below = f"{self._named(name)}." if extra is None else f"{self._named(name)}.{extra}."
        return RegisteredGroup(self._registry, self._spec, below)

    def _named(self, name: str) -> str:
        if not isinstance(name, str) or not name:
            raise ProgramError(f"A metric needs a non-empty string as its name, got {name!r}.")
        return self._prefix + name

    def _register(self, name: str, metric: M) -> M:
        return self._registry.register(self._spec, self._named(name), metric)

    def counter(self, name: str) -> Counter:
        return self._register(name, ReportedCounter())

    def gauge(self, name: str, obj: Callable[[], float]) -> None:
        if not callable(obj):
            raise ProgramError(f"The gauge {name!r} needs a callable, got {obj!r}.")
        self._register(name, ReportedGauge(obj))

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        return self._register(name, ReportedMeter(time_span_in_seconds))

    def distribution(self, name: str) -> Distribution:
        return self._register(name, ReportedDistribution())


class MetricTotals:
    """The metrics of a whole job, summed over instances and micro-batches of this run."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._counts: dict[tuple[str, str], int] = {}
        self._gauges: dict[tuple[str, str], float] = {}
        self._distributions: dict[tuple[str, str], DistributionStatistics] = {}
        #: per meter: its span, and when how many events were reported
        self._meters: dict[tuple[str, str], tuple[int, list[tuple[float, int]]]] = {}

    def take(self, reports: list[dict[str, Any]]) -> None:
        """Add what the tasks of a micro-batch reported."""
        asked: dict[tuple[str, str], float] = {}
        for report in reports:
            for uid, name, kind, content in report["metrics"]:
                place = (uid, name)
                if kind == "gauge":
                    asked[place] = asked.get(place, 0) + content
                elif kind == "distribution":
                    self._distribute(place, DistributionStatistics(*content))
                elif kind == "meter":
                    self._mark(place, *content)
                else:
                    self._counts[place] = self._counts.get(place, 0) + content
        self._gauges.update(asked)

    def _distribute(self, place: tuple[str, str], new: DistributionStatistics) -> None:
        old = self._distributions.get(place)
        if old is not None:
            new = DistributionStatistics(
                old.sum + new.sum,
                old.count + new.count,
                min(old.min, new.min),
                max(old.max, new.max),
            )
        self._distributions[place] = new

    def _mark(self, place: tuple[str, str], count: int, span: int) -> None:
        now = time.monotonic()
        _, readings = self._meters.setdefault(place, (span, []))
        readings.append((now, count))
        while readings[0][0] < now - span:
            del readings[0]
        self._counts[place] = self._counts.get(place, 0) + count

    def by_operator(self, operators: Mapping[str, OperatorSpec]) -> dict[str, dict[str, Any]]:
        """All metrics: by the operator's name (with its uid where several have that name), then by
        the metric's own."""
        names = Tally(spec.name for spec in operators.values())
        found: dict[str, dict[str, Any]] = {}
        for uid, metrics in self.by_uid().items():
            shown = operators[uid].name if uid in operators else uid
            found[f"{shown} ({uid})" if names[shown] > 1 else shown] = metrics
        return dict(sorted(found.items()))

    def by_uid(self) -> dict[str, dict[str, Any]]:
        """All metrics: by the operator's uid, then by the metric's name."""
        found: dict[str, dict[str, Any]] = {}
        for held in (self._counts, self._gauges, self._distributions):
            for (uid, name), value in dict[tuple[str, str], Any](held).items():
                found.setdefault(uid, {})[name] = self._metered((uid, name), value)
        return {uid: dict(sorted(metrics.items())) for uid, metrics in found.items()}

    def _metered(self, place: tuple[str, str], value: Any) -> Any:
        if place not in self._meters:
            return value
        span, readings = self._meters[place]
        now = time.monotonic()
        recent = sum(count for when, count in readings if when >= now - span)
        return MeterStatistics(value, recent / min(span, max(1.0, now - self._started)))
