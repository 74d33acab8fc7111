"""The benchmark of large states runs, and what it compares lies in runs."""

from __future__ import annotations

import pytest
from benchmarks.large_state import KINDS, measure


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_state_is_measured(kind: str) -> None:
    found = measure(kind, keys=60, batch=20, batches=2)
    assert found.entries == (600 if kind == "map_of_ten" else 60)
