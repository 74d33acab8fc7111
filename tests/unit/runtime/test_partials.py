"""Groups of rows by several columns of whole numbers, as sorting the rows would find them."""

from __future__ import annotations

import numpy as np
import pytest

from scurry.runtime.columnar.partials import combine, groups_of

_RANDOM = np.random.default_rng(7)
_KEYS = _RANDOM.integers(-50, 50, 2000)
_COLUMNS = {
    "times of windows, in order": np.repeat(np.arange(8) * 10_000 + 1_700_000_000_000, 250),
    "times that go back": np.repeat(_RANDOM.integers(0, 5, 40) * 86_400_000, 50),
    "times of each row": _RANDOM.integers(0, 1 << 40, 2000),
    "one time": np.full(2000, 1_700_000_000_000),
    "the ends of what is possible": np.repeat([-(1 << 62), (1 << 62) - 1], 1000),
}


@pytest.mark.parametrize("name", _COLUMNS)
def test_groups_are_distinct_pairs_in_order(name: str) -> None:
    times = _COLUMNS[name]
    (found, keys), inverse = groups_of(times, _KEYS)
    pairs = list(zip(times.tolist(), _KEYS.tolist(), strict=True))
    groups = list(zip(found.tolist(), keys.tolist(), strict=True))
    assert groups == sorted(set(pairs))
    assert [groups[at] for at in inverse.tolist()] == pairs


def test_counts_that_are_the_same_are_combined_once() -> None:
    ones = np.ones(4, dtype=np.int64)
    made = combine({"n:0": ones, "n:1": ones, "sum:1": ones}, np.array([0, 1, 0, 0]), 2)
    assert made["n:0"] is made["n:1"]
    assert {name: column.tolist() for name, column in made.items()} == {
        "n:0": [3, 1],
        "n:1": [3, 1],
        "sum:1": [3, 1],
    }
