"""Random programs give what the model says Flink gives, however they are run."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from tests.fuzz.check import check
from tests.fuzz.generate import Case, cases, runs
from tests.fuzz.steps import Run


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases(), runs, runs)
def test_random_programs(case: Case, run: Run, other: Run) -> None:
    for how in (run, other):
        check(case, how)
