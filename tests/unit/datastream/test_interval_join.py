"""Interval joins: bounds, state that is cleaned up, and mistakes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest

from scurry.common import Duration, Time, WatermarkStrategy
from scurry.common.errors import FunctionError, ProgramError
from scurry.datastream import (
    KeyedStream,
    OutputTag,
    ProcessJoinFunction,
    StreamExecutionEnvironment,
)
from scurry.testing import ListSink, collect_local
from scurry.testing.local import LocalJob


class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterable[Any]:
        yield left, right


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


def keyed(env: StreamExecutionEnvironment, times: list[int]) -> KeyedStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(100))
    stream = env.from_collection(times).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(lambda event, _: event)
    )
    return stream.key_by(lambda e: "all")


@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (-2, 1),
        (Time.milliseconds(-2), Time.milliseconds(1)),
        (Duration.of_millis(-2), Duration.of_millis(1)),
        (timedelta(milliseconds=-2), timedelta(milliseconds=1)),
    ],
)
def test_bounds_are_included_unless_said_otherwise(lower: Any, upper: Any) -> None:
    def pairs(*exclude: str) -> set[int]:
        env = environment()
        join = keyed(env, [10]).interval_join(keyed(env, list(range(20)))).between(lower, upper)
        for method in exclude:
            join = getattr(join, method)()
        return {right for _, right in collect_local(join.process(Pair()))}

    assert pairs() == {8, 9, 10, 11}
    assert pairs("lower_bound_exclusive") == {9, 10, 11}
    assert pairs("upper_bound_exclusive") == {8, 9, 10}
    assert pairs("lower_bound_exclusive", "upper_bound_exclusive") == {9, 10}


@pytest.mark.parametrize(("lower", "upper"), [(-5, 5), (2, 5), (-5, -2), (0, 0)])
def test_buffers_are_empty_in_the_end(lower: int, upper: int) -> None:
    env = environment()
    join = keyed(env, list(range(50))).interval_join(keyed(env, list(range(0, 50, 3))))
    join.between(lower, upper).process(Pair()).uid("join").sink_to(ListSink())
    with LocalJob(env._compile(None)) as job:
        job.step(7)
        assert buffered(job) > 0
        while not job.done:
            job.step(7)
        assert buffered(job) == 0


def buffered(job: LocalJob) -> int:
    """How many records the join holds."""
    found = 0
    for host in job._hosts.values():
        local = host.store.local
        local.begin()
        tables = [name for name in local.tables() if name.startswith("join\x1f")]
        found += sum(1 for name in tables for _ in local.scan(name))
        local.end()
    return found


def test_side_outputs_of_pairs() -> None:
    side = OutputTag("side")

    class Split(ProcessJoinFunction):
        def process_element(self, left: Any, right: Any, ctx: Any) -> None:
            ctx.output(side, (left, right, ctx.get_timestamp()))

    env = environment()
    join = keyed(env, [1, 9]).interval_join(keyed(env, [2, 8])).between(-1, 1)
    assert sorted(collect_local(join.process(Split()).get_side_output(side))) == [
        (1, 2, 2),
        (9, 8, 9),
    ]


def test_elements_need_timestamps() -> None:
    env = environment()
    one, two = (env.from_collection([1]).key_by(lambda e: e) for _ in range(2))
    with pytest.raises(FunctionError, match=r"interval join needs elements with timestamps"):
        collect_local(one.interval_join(two).between(0, 0).process(Pair()))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda a, b: a.interval_join(5), "interval_join takes streams, got 5"),
        (lambda a, b: a.interval_join(b._origin), "keyed stream on both sides"),
        (lambda a, b: a.interval_join(b).between(3, 1), "lower bound lies above the upper"),
        (
            lambda a, b: a.interval_join(b).between(1, 1).lower_bound_exclusive().process(Pair()),
            "interval from 1 to 1 ms is empty",
        ),
        (lambda a, b: a.interval_join(b).between(0, 1).process(5), "needs a ProcessJoinFunction"),
        (
            lambda a, b: a.interval_join(b).between(0, 1).side_output_left_late_data("x"),
            "side_output_left_late_data needs an OutputTag, got 'x'",
        ),
    ],
)
def test_mistakes(build: Any, message: str) -> None:
    env = environment()
    with pytest.raises(ProgramError, match=message):
        build(keyed(env, [1]), keyed(env, [2]))
