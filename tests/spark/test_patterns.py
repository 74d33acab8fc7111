"""Patterns on Spark, cut into small micro-batches, find what they find without it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.cep.test_pattern_streams import OVER, READINGS, Told, by_user, growing, pair

from scurry.cep import CEP
from scurry.common import Duration, WatermarkStrategy
from scurry.datastream import StreamExecutionEnvironment
from scurry.testing import collect_local
from scurry.testing.spark import collect_on_spark

pytestmark = pytest.mark.spark


def matches(env: StreamExecutionEnvironment) -> Any:
    """Matches of two patterns, and what was not complete in time, in one stream."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(20)
    ).with_timestamp_assigner(lambda event, _: event[2])
    stream = by_user(env.from_collection(READINGS).assign_timestamps_and_watermarks(strategy))
    grown = CEP.pattern(stream, growing()).select(repr)
    pairs = CEP.pattern(stream, pair(15)).process(Told())
    return grown.union(pairs.map(repr), pairs.get_side_output(OVER).map(repr))


def test_matches_and_timeouts() -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    expected = sorted(collect_local(matches(env)))
    assert any("over" in text for text in expected)
    assert sorted(collect_on_spark(matches, 3, 2)) == expected
