"""Functions that were opened are closed, each once, however the job ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from scurry.common.errors import FunctionError
from scurry.datastream import (
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from scurry.testing import ListSink
from scurry.testing.local import LocalJob

#: opened and closed instances, by the name of the function and its slot
EVENTS: list[tuple[str, str, int]] = []


class Lived:
    def __init__(self, name: str, fails_in: str = "") -> None:
        self.name, self.fails_in = name, fails_in

    def open(self, runtime_context: RuntimeContext) -> None:
        self.slot = runtime_context.get_index_of_this_subtask()
        EVENTS.append(("open", self.name, self.slot))
        self.fail("open")

    def close(self) -> None:
        EVENTS.append(("close", self.name, self.slot))
        self.fail("close")

    def fail(self, where: str) -> None:
        if self.fails_in == where:
            raise ValueError(f"as told, in {where}")


class Chained(Lived, MapFunction):
    def map(self, value: Any) -> Any:
        self.fail("map")
        return value


class Keyed(Lived, KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.fail("process")
        yield value


@pytest.fixture(autouse=True)
def no_events() -> None:
    EVENTS.clear()


def job(**fails_in: str) -> LocalJob:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    numbers = env.from_collection(list(range(20))).map(Chained("first", fails_in.get("first", "")))
    keyed = numbers.key_by(lambda n: n).process(Keyed("keyed", fails_in.get("keyed", "")))
    keyed.map(Chained("last", fails_in.get("last", ""))).sink_to(ListSink())
    return LocalJob(env._compile(None))


def happened(what: str) -> Counter[tuple[str, int]]:
    return Counter((name, slot) for event, name, slot in EVENTS if event == what)


EACH = Counter({(name, slot): 1 for name in ("keyed", "last") for slot in (0, 1)}) + Counter(
    {("first", 0): 1}
)


def test_at_the_end_of_bounded_input() -> None:
    with job() as running:
        while running.step(3):
            pass
        assert happened("open") == EACH
        assert happened("close") == EACH
    assert happened("close") == EACH, "and not once more"


def test_when_the_job_is_stopped() -> None:
    with job() as running:
        running.step(3)
        assert happened("close") == Counter()
    assert happened("open") == happened("close") == EACH


@pytest.mark.parametrize(("where", "method"), [("first", "map"), ("keyed", "process")])
def test_when_the_job_fails(where: str, method: str) -> None:
    with pytest.raises(FunctionError, match=f"as told, in {method}"), job(**{where: method}) as it:
        it.step()
    assert happened("open") == happened("close")


def test_when_it_starts_again() -> None:
    with job() as running:
        running.step(3)
        running.restart()
        assert happened("close") == EACH
        running.step(3)
    assert happened("open") == happened("close") == EACH + EACH


def test_a_function_that_fails_to_open_is_closed_as_in_flink() -> None:
    with pytest.raises(FunctionError, match="as told, in open"), job(keyed="open") as running:
        running.step()
    assert happened("close") == happened("open")


def test_one_that_fails_to_close_does_not_keep_others_from_closing() -> None:
    with job(keyed="close") as running:
        with pytest.raises(FunctionError, match="KEYED PROCESS") as told:
            running.step()
        assert "as told, in close" in str(told.value)
    assert happened("close")["last", 0] == 1
