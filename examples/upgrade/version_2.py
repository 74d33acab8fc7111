"""Version 2 of the shop's statistics.

    python version_2.py INPUT OUTPUT

It also keeps the largest order of each customer, so the type of the state has a field more; and
a new operator tells once of each customer who has spent 50.00 in all, in OUTPUT-good.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from version_1 import files_in, orders_of

from scurry.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.state import ValueStateDescriptor

GOOD = 5_000


@dataclass
class Totals:
    """What is known of a customer. The field that is new has a default, which those customers get
    of whom version 1 has stored the totals."""

    orders: int = 0
    cents: int = 0
    largest: int = 0


class Statistics(KeyedProcessFunction):
    """Keeps the totals of each customer."""

    def open(self, runtime_context: Any) -> None:
        self.totals = runtime_context.get_state(ValueStateDescriptor("totals", Totals))

    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterable[tuple[str, Totals]]:
        totals = self.totals.value() or Totals()
        totals.orders += 1
        totals.cents += value[1]
        totals.largest = max(totals.largest, value[1])
        self.totals.update(totals)
        yield value[0], totals


class Good(KeyedProcessFunction):
    """Names a customer when the totals reach the limit, and never again."""

    def open(self, runtime_context: Any) -> None:
        self.told = runtime_context.get_state(ValueStateDescriptor("told", bool))

    def process_element(self, value: tuple[str, Totals], ctx: Any) -> Iterable[str]:
        if value[1].cents >= GOOD and not self.told.value():
            self.told.update(True)
            yield value[0]


def build(env: StreamExecutionEnvironment, orders: Path, output: Path) -> None:
    """The program, up to its start."""
    keyed = orders_of(env, orders).key_by(_customer)
    statistics = keyed.process(Statistics()).uid("statistics")
    statistics.map(_line).uid("lines").sink_to(files_in(output)).uid("output")
    good = statistics.key_by(_customer).process(Good()).uid("good")
    good.sink_to(files_in(output.with_name(f"{output.name}-good"))).uid("good output")


def _customer(record: tuple[str, Any]) -> str:
    return record[0]


def _line(record: tuple[str, Totals]) -> str:
    customer, totals = record
    return f"{customer} {totals.orders} {totals.cents} {totals.largest}"


if __name__ == "__main__":
    environment = StreamExecutionEnvironment.get_execution_environment()
    build(environment, Path(sys.argv[1]), Path(sys.argv[2]))
    environment.execute("shop")
