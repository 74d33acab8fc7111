"""Metrics of functions, under PyFlink's names."""

from __future__ import annotations

from scurry.metrics.metricbase import (
    Counter,
    Distribution,
    DistributionStatistics,
    Meter,
    MeterStatistics,
    Metric,
    MetricGroup,
)

__all__ = [
    "Counter",
    "Distribution",
    "DistributionStatistics",
    "Meter",
    "MeterStatistics",
    "Metric",
    "MetricGroup",
]
