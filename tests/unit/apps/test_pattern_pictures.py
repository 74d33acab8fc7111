"""The pictures of patterns are what the script draws, and show what Flink's guide says."""

from __future__ import annotations

import pytest
from scripts import pattern_pictures


def test_the_pictures_are_up_to_date() -> None:
    for name, drawn in pattern_pictures.pictures().items():
        held = (pattern_pictures.PICTURES / name).read_text(encoding="utf-8")
        assert held == drawn, "run python scripts/pattern_pictures.py"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("no_skip()", ["b1 b2 b3 c", "b2 b3 c", "b3 c"]),
        ("skip_to_next()", ["b1 b2 b3 c", "b2 b3 c", "b3 c"]),
        ("skip_past_last_event()", ["b1 b2 b3 c"]),
        ('skip_to_first("b")', ["b1 b2 b3 c", "b2 b3 c", "b3 c"]),
        ('skip_to_last("b")', ["b1 b2 b3 c", "b3 c"]),
    ],
)
def test_what_strategies_leave(name: str, expected: list[str]) -> None:
    pattern = dict(pattern_pictures.SKIPS)[name]()
    found = pattern_pictures.matches(pattern, ["b1", "b2", "b3", "c"])
    assert [" ".join(sorted(match)) for match in found] == expected
