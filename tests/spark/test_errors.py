"""What goes wrong in user code arrives as one Python exception that says where and on what."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from scurry.common import Types
from scurry.common.errors import FunctionError, ScurryError
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.testing.spark import collect_on_spark

Build = Callable[[StreamExecutionEnvironment], Any]


def failing(build: Build) -> FunctionError:
    with pytest.raises(FunctionError) as caught:
        collect_on_spark(build)
    return caught.value


def divide(n: int) -> float:
    return 10 / n


def test_a_map_that_raises_shows_the_frame_the_operator_and_the_element() -> None:
    error = failing(lambda env: env.from_collection([5, 0]).map(divide).name("divide").uid("d"))
    assert error.exception == "ZeroDivisionError: division by zero"
    assert error.operator == "divide"
    assert error.uid == "d"
    assert error.element == "0"
    assert "return 10 / n" in error.traceback
    assert "test_errors.py" in error.traceback
    text = str(error)
    assert "org.apache.spark" not in text
    assert "scurry/runtime" not in text


class Picky(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        if value == "bad":
            raise ValueError("cannot take this")
        yield value


def test_a_process_function_that_raises() -> None:
    error = failing(
        lambda env: env.from_collection(["fine", "bad"]).key_by(lambda e: e).process(Picky())
    )
    assert error.exception == "ValueError: cannot take this"
    assert error.element == "'bad'"


class ReturnsNumber(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return 5


def test_a_process_function_that_returns_no_iterable() -> None:
    error = failing(
        lambda env: env.from_collection([1]).key_by(lambda e: e).process(ReturnsNumber())
    )
    assert "ReturnsNumber returned 5 (int); it must yield its results" in error.exception


def test_a_flat_map_that_returns_no_iterable() -> None:
    error = failing(lambda env: env.from_collection([7]).flat_map(lambda e: e))
    assert "flat_map returned 7 (int)" in error.exception
    assert error.element == "7"


def test_a_map_that_returns_another_type_than_declared() -> None:
    error = failing(lambda env: env.from_collection([1]).map(str, output_type=Types.LONG()))
    assert "expected LONG, got '1' (str)" in error.exception
    assert error.element == "'1'"


@pytest.mark.parametrize("key", [[1, 2], {"a": 1}])
def test_a_key_that_cannot_be_hashed(key: Any) -> None:
    error = failing(lambda env: env.from_collection([3]).key_by(lambda e: key).reduce(max))
    assert "cannot be a key" in error.exception
    assert "tuple" in error.exception
    assert error.element == "3"


def test_a_key_selector_that_raises() -> None:
    error = failing(lambda env: env.from_collection([(1,), ()]).key_by(lambda e: e[0]).reduce(max))
    assert error.exception.startswith("IndexError")
    assert error.element == "()"


def test_an_element_that_cannot_travel() -> None:
    def build(env: StreamExecutionEnvironment) -> Any:
        locks = env.from_collection([1]).map(lambda _: threading.Lock())
        return locks.key_by(lambda lock: 1).map(lambda lock: 1)

    error = failing(build)
    assert "cannot travel between operators" in error.exception


def test_a_function_that_fails_to_open() -> None:
    class NoModel(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            raise FileNotFoundError("model.bin")

        def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
            yield value

    error = failing(lambda env: env.from_collection([1]).key_by(lambda e: e).process(NoModel()))
    assert error.exception == "FileNotFoundError: model.bin"


def test_state_without_keys_is_refused_with_a_hint() -> None:
    from scurry.datastream import MapFunction
    from scurry.datastream.state import ValueStateDescriptor

    class Stateful(MapFunction):
        def open(self, runtime_context: Any) -> None:
            runtime_context.get_state(ValueStateDescriptor("s"))

        def map(self, value: Any) -> Any:
            return value

    error = failing(lambda env: env.from_collection([1]).map(Stateful()))
    assert "key_by" in error.exception


def test_a_job_can_run_after_one_that_failed() -> None:
    with pytest.raises(ScurryError):
        collect_on_spark(lambda env: env.from_collection([0]).map(divide))
    assert collect_on_spark(lambda env: env.from_collection([5]).map(divide)) == [2.0]
