"""Random programs on Spark give what the model says Flink gives; see :mod:`tests.fuzz`."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.fuzz.check import check_on_spark
from tests.fuzz.generate import Case, cases, runs

#: of one mode, since they are one job
three = st.sampled_from([False] * 9 + [True]).flatmap(
    lambda batch: st.tuples(*[cases(batch=batch)] * 3)
)


@settings(
    max_examples=2,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
@given(programs=three, run=runs)
def test_random_programs(programs: tuple[Case, ...], run: Any) -> None:
    check_on_spark(programs, run)
