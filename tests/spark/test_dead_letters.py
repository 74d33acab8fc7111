"""Dead letters cross stages and processes like any other stream."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scurry.common import Configuration
from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.functions import DeadLetter
from scurry.datastream.state import ValueStateDescriptor
from scurry.testing.sinks import ListSink


class Total(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total"))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        total = (self.total.value() or 0) + value[1]
        self.total.update(total)
        yield value[0], total


def test_poison_leaves_and_the_job_goes_on() -> None:
    configuration = Configuration.of(
        {"scurry.on-error": "dead-letter", "scurry.batch.max-records": "4"}
    )
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    rows = [("a", 1), ("b", 2), ("a", "poison"), (), ("b", 3), ("a", 4), ("b", 6)]
    totals, letters = ListSink(), ListSink()
    keyed = env.from_collection(rows).key_by(lambda row: row[0])
    keyed.process(Total()).uid("total").sink_to(totals)
    env.dead_letters().sink_to(letters)
    env.execute()
    assert sorted(t for t in totals.values if t[0] == "a") == [("a", 1), ("a", 5)]
    assert sorted(t for t in totals.values if t[0] == "b") == [("b", 2), ("b", 5), ("b", 11)]
    assert {type(letter) for letter in letters.values} == {DeadLetter}
    found = sorted((str(letter.element), letter.error.split(":")[0]) for letter in letters.values)
    assert found == [("('a', 'poison')", "TypeError"), ("()", "IndexError")]
