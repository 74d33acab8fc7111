"""What the small jobs of the benchmark ``first_result`` have in common."""

from __future__ import annotations

EVENTS = 1000
KEYS = 100
#: The line a contender prints when its first result has arrived.
FIRST = "first result"


def say_first() -> None:
    """The first result is there."""
    print(FIRST, flush=True)
