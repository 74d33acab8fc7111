"""The benchmark of copies runs, and what it compares differs in nothing but the copies."""

from __future__ import annotations

import pytest
from benchmarks.copies import FUNCTIONS, measure


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_runs_both_ways(name: str) -> None:
    for reuse in (False, True):
        assert measure(FUNCTIONS[name], reuse, 50) >= 0
