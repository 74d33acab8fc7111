"""A function that raises StopIteration fails; it does not end the batch without a word."""

from __future__ import annotations

from typing import Any

import pytest

from scurry.common.errors import FunctionError
from scurry.connectors.datagen import DataGeneratorSource
from scurry.datastream import StreamExecutionEnvironment
from scurry.testing import ListSink
from scurry.testing.local import run_local

ROWS = [[1, 2], [3], [], [4]]


def first(row: list[int]) -> int:
    return next(iter(row))


@pytest.mark.parametrize("reuse", [False, True])
@pytest.mark.parametrize("step", ["map", "filter", "key_by", "partition_custom"])
def test_it_names_the_element(step: str, reuse: bool) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    if reuse:
        env.get_config().enable_object_reuse()
    rows: Any = env.from_collection(ROWS)
    if step == "key_by":
        rows = rows.key_by(first).reduce(lambda one, other: one)
    elif step == "partition_custom":
        rows = rows.partition_custom(lambda key, slots: key % slots, first).map(str)
    else:
        rows = getattr(rows, step)(first)
    rows.sink_to(ListSink())
    with pytest.raises(FunctionError, match="StopIteration") as told:
        run_local(env, 4)
    assert told.value.element == "[]"


def test_a_source_that_makes_records_fails() -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    source = DataGeneratorSource(lambda number: first(list(range(number, 5))), 8)
    env.from_source(source, None, "made").sink_to(ListSink())
    with pytest.raises(Exception, match="StopIteration"):
        run_local(env, 4)
