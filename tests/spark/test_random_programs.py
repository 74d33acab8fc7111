"""Random programs on Spark give what the model says Flink gives; see :mod:`tests.fuzz`."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from tests.fuzz.check import check_on_spark
from tests.fuzz.generate import Case, cases, runs


@settings(
    max_examples=2,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
@given(first=cases(), second=cases(), third=cases(), run=runs)
def test_random_programs(first: Case, second: Case, third: Case, run: Any) -> None:
    check_on_spark([first, second, third], run)
