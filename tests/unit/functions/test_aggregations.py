"""Rolling aggregations over every kind of element, against folds written out by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

from scurry.common import Row
from scurry.common.errors import FunctionError, ProgramError
from scurry.datastream import StreamExecutionEnvironment
from scurry.testing import collect_local


class Pair(NamedTuple):
    name: str
    n: int


@dataclass
class Reading:
    name: str
    n: int


def run(elements: list[Any], method: str, position: Any) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    keyed = env.from_collection(elements).key_by(lambda e: 0)
    return collect_local(getattr(keyed, method)(position), cuts=2)


NUMBERS = [("a", 3), ("b", 1), ("c", 4), ("d", 1)]
EXPECTED = {
    "sum": [("a", 3), ("a", 4), ("a", 8), ("a", 9)],
    "min": [("a", 3), ("a", 1), ("a", 1), ("a", 1)],
    "max": [("a", 3), ("a", 3), ("a", 4), ("a", 4)],
    "min_by": [("a", 3), ("b", 1), ("b", 1), ("b", 1)],
    "max_by": [("a", 3), ("a", 3), ("c", 4), ("c", 4)],
}


@pytest.mark.parametrize("method", list(EXPECTED))
@pytest.mark.parametrize(
    ("make", "position"),
    [
        (lambda name, n: (name, n), 1),
        (Pair, 1),
        (Pair, "n"),
        (Reading, "n"),
        (Reading, 1),
        (lambda name, n: Row(name=name, n=n), "n"),
        (lambda name, n: Row(name, n), 1),
        (lambda name, n: {"name": name, "n": n}, "n"),
        (lambda name, n: [name, n], 1),
    ],
)
def test_every_kind_of_element(method: str, make: Any, position: Any) -> None:
    found = run([make(*pair) for pair in NUMBERS], method, position)
    assert found == [make(*pair) for pair in EXPECTED[method]]


@pytest.mark.parametrize(
    ("method", "expected"), [("sum", [3, 4, 8]), ("min", [3, 1, 1]), ("max_by", [3, 3, 4])]
)
def test_bare_values(method: str, expected: list[int]) -> None:
    assert run([3, 1, 4], method, 0) == expected


def test_what_is_refused() -> None:
    with pytest.raises(ProgramError, match=r"position or name of a field, got 1\.5"):
        run([1], "sum", 1.5)
    with pytest.raises(FunctionError, match="needs elements with fields, got"):
        run([1, 2], "sum", 1)
