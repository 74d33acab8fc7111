"""The model of relational steps: what a table is in the end, or what rows it ever gets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from tests.fuzz import model_keyed as keyed
from tests.fuzz.model_windows import WindowModel
from tests.fuzz.queries import answer
from tests.fuzz.records import MODULUS, Fields
from tests.fuzz.steps import Step
from tests.fuzz.streams import Element, Stream

#: Larger tables take too long to join.
_MOST_ROWS = 60


#: The windows in which pairs are counted.
WINDOW_OF_PAIRS = {"assigner": ("tumbling", 5, 5), "all": False}


def windowed(step: Step, stream: Stream) -> tuple[Element, ...]:
    """Results of windows; a record that comes after the end of a window is not in it."""
    as_stream = {"function": "built-in", "trigger": None, "lateness": 0}
    return WindowModel(Step("window", (), {**step.args, **as_stream})).run(stream)[0]


def over(stream: Stream, back: int | None) -> Iterable[tuple[Fields, int]]:
    """For each record the sum of those of its key up to its time, so far back."""
    for (k, t, _), ts, _ in stream.elements:
        assert ts is not None
        first = None if back is None else ts - back
        total = sum(
            other.record[2]
            for other in stream.elements
            if other.record[0] == k
            and other.ts is not None
            and other.ts <= ts
            and (first is None or other.ts >= first)
        )
        yield (k, t, total % MODULUS), ts


def joined(step: Step, left: Stream, right: Stream) -> tuple[Element, ...]:
    """Pairs that are near in time, or windows of them by the timestamp of one of both."""
    lower, upper = step["between"]
    found = keyed.pairs(left, right, lambda one, other: lower <= other - one <= upper)
    which = 0 if step["time"] == "left" else 1
    pairs = keyed.in_time((keyed.paired(*pair), pair[which].ts or 0) for pair in found)
    if step["time"] == "none":
        return pairs
    return windowed(Step("", (), {**step.args, **WINDOW_OF_PAIRS}), Stream(pairs))


def table(step: Step, streams: tuple[Stream, ...]) -> tuple[Element, ...] | None:
    """The rows of a table in the end."""
    records = [[element.record for element in stream.elements] for stream in streams]
    if any(len(each) > _MOST_ROWS for each in records):
        return None
    rows = answer(step["query"], list(records), step["afterwards"])
    return tuple(Element(cast("Fields", row), None) for row in rows.elements())
