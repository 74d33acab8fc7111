"""Programs that once went wrong, as the random programs that found them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.fuzz.check import check
from tests.fuzz.generate import Case
from tests.fuzz.model import apply
from tests.fuzz.steps import Program, Run, Step
from tests.fuzz.streams import Stream

PROGRAMS: dict[str, list[Step]] = {
    # the records of two partitions were merged, and their watermark is that of the slower one: it
    # has to hold back the other input, too
    "a stream of merged partitions meets another one": [
        Step("source", (), {"kind": "collection", "shape": "tuple", "strategy": ("bounded", 0),
                            "partitions": [[(0, 1, 0), (0, 1, 1)]]}),
        Step("source", (), {"kind": "partitions", "shape": "tuple", "strategy": ("bounded", 0),
                            "partitions": [[(0, 2, 0), (0, 2, 1)],
                                           [(0, 0, 2), (0, 0, 3), (0, 0, 4)]],
                            "ends": False, "idleness": 0}),
        Step("move", (1,), {"how": "rebalance", "parallelism": None}),
        Step("connect", (2, 0), {"key": "int", "shape": "tuple"}),
    ],
    # the streams that a query reads were sought in FROM alone, so the program did not compile
    "a stream is read within a condition of a query": [
        Step("source", (), {"kind": "collection", "shape": "tuple", "strategy": None,
                            "partitions": [[(0, 0, 0), (0, 1, 1), (1, 2, 2)]]}),
        Step("map", (0,), {"how": "plain", "add": 1, "shape": "tuple"}),
        Step("changes_of_two", (0, 1), {
            "query": "SELECT k AS a, v AS b FROM {0} AS o WHERE v IN (SELECT v FROM {1})",
            "afterwards": None}),
    ],
    # the environment for tables, which every program has, put the job into streaming mode
    "a program in batch mode has tables beside it": [
        Step("source", (), {"kind": "collection", "shape": "tuple", "strategy": ("bounded", 0),
                            "partitions": [[(0, 0, 0), (0, 9, 1), (0, 3, 2)]], "batch": True}),
        Step("connect", (0, 0), {"key": "int", "shape": "tuple"}),
    ],
    # a pair has the time of its earlier row, and the watermark had passed that already
    "windows of the pairs of a join in an interval of time": [
        Step("source", (), {"kind": "collection", "shape": "tuple", "strategy": ("bounded", 0),
                            "partitions": [[(0, 3 * n, n) for n in range(8)]]}),
        Step("table_join", (0, 0), {"between": (0, 5), "shape": "tuple", "time": "left"}),
    ],
    # reduced values have the type of their input, which nobody had declared for them
    "a table of reduced values of a declared type": [
        Step("source", (), {"kind": "collection", "shape": "typed row", "strategy": ("bounded", 0),
                            "partitions": [[(0, 0, 0), (0, 1, 1), (1, 2, 2)]]}),
        Step("reduce", (0,), {"key": "int", "parallelism": None}),
        Step("select", (1,), {"add": 0, "without": 0, "shape": "tuple", "timed": True}),
    ],
}  # fmt: skip
RUNS = [Run(), Run(cuts=(1,)), Run(parallelism=2, cuts=(1, 2))]


def case(steps: list[Step]) -> Case:
    """The program with one sink, behind its last step."""
    streams: list[Any] = []
    for step in steps:
        streams.append(apply(step, streams))
        assert isinstance(streams[-1], Stream)
    return Case(Program(tuple(steps), (len(steps) - 1,)), tuple(streams))


@pytest.mark.parametrize("run", RUNS, ids=repr)
@pytest.mark.parametrize("name", PROGRAMS)
def test_found(name: str, run: Run) -> None:
    check(case(PROGRAMS[name]), run)
