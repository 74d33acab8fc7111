"""Version 1 of the shop's statistics: how many orders each customer has placed, and for how much.

    python version_1.py INPUT OUTPUT

INPUT is a directory with files of lines such as ``ada,250`` (customer, cents), to which files may
be added; OUTPUT gets a line for each order: customer, number of orders so far, cents so far.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scurry.common import Duration, Encoder
from scurry.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from scurry.datastream.connectors.file_system import (
    BucketAssigner,
    FileSink,
    FileSource,
    RollingPolicy,
    StreamFormat,
)
from scurry.datastream.state import ValueStateDescriptor


@dataclass
class Totals:
    """What is known of a customer."""

    orders: int = 0
    cents: int = 0


class Statistics(KeyedProcessFunction):
    """Keeps the totals of each customer."""

    def open(self, runtime_context: Any) -> None:
        self.totals = runtime_context.get_state(ValueStateDescriptor("totals", Totals))

    def process_element(self, value: tuple[str, int], ctx: Any) -> Iterable[str]:
        totals = self.totals.value() or Totals()
        totals.orders += 1
        totals.cents += value[1]
        self.totals.update(totals)
        yield f"{value[0]} {totals.orders} {totals.cents}"


def orders_of(env: StreamExecutionEnvironment, directory: Path) -> DataStream:
    """The orders in the files of a directory, as they come."""
    lines = FileSource.for_record_stream_format(
        StreamFormat.text_line_format(), str(directory)
    ).monitor_continuously(Duration.of_millis(200))
    read = env.from_source(lines.build(), None, "orders").uid("orders")
    return read.map(_order).uid("parsed")


def _order(line: str) -> tuple[str, int]:
    customer, cents = line.split(",")
    return customer, int(cents)


def files_in(directory: Path) -> FileSink:
    """A sink of text files, complete with every micro-batch."""
    every_batch = RollingPolicy.on_checkpoint_rolling_policy()
    sink = FileSink.for_row_format(str(directory), Encoder.simple_string_encoder())
    flat = BucketAssigner.base_path_bucket_assigner()
    return sink.with_rolling_policy(every_batch).with_bucket_assigner(flat).build()


def build(env: StreamExecutionEnvironment, orders: Path, output: Path) -> None:
    """The program, up to its start."""
    statistics = orders_of(env, orders).key_by(_customer).process(Statistics()).uid("statistics")
    statistics.sink_to(files_in(output)).uid("output")


def _customer(order: tuple[str, int]) -> str:
    return order[0]


if __name__ == "__main__":
    environment = StreamExecutionEnvironment.get_execution_environment()
    build(environment, Path(sys.argv[1]), Path(sys.argv[2]))
    environment.execute("shop")
