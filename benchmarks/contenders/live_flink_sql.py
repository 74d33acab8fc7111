"""Flink SQL under a steady load; see ``benchmarks/live.py``.

The records are made, and their arrival is noted, by the same Python functions as in
``live_pyflink``, in threads of the JVM; between them is SQL alone. Each result carries the due time
of its record: the latest of its key.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from pyflink.common import RowKind, Types, WatermarkStrategy
from pyflink.datastream import MapFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.table import Schema, StreamTableEnvironment

from benchmarks.contenders._latency import Latencies, options
from benchmarks.contenders.live_pyflink import Due, settings

_FIRST = "SELECT k, COUNT(*) AS c, MAX(due) AS due FROM events GROUP BY k"
_QUERIES = {
    "one": _FIRST,
    "two": f"SELECT k / 7, SUM(c), MAX(due) FROM ({_FIRST}) GROUP BY k / 7",
}


class Arrival(MapFunction):
    """Notes when results come, those that replace others and not what they replace."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    def open(self, runtime_context: Any) -> None:
        self._latencies = Latencies(Path(self._directory))

    def map(self, value: Any) -> int:
        if value.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
            self._latencies.note([value[2]])
        return 0


def main() -> None:
    """Run until the time is over."""
    given = options().parse_args()
    env = StreamExecutionEnvironment.get_execution_environment(settings(given))
    env.set_parallelism(given.parallelism)
    tables = StreamTableEnvironment.create(env)
    start = float((given.work / "start").read_text())
    numbers = env.from_source(
        NumberSequenceSource(0, (1 << 62) - 1),
        WatermarkStrategy.no_watermarks(),
        "numbers",
        type_info=Types.LONG(),
    )
    record = Types.ROW_NAMED(["k", "due"], [Types.LONG(), Types.LONG()])
    due = numbers.map(Due(given.rate, given.keys, start, given.parallelism, row=True), record)
    schema = Schema.new_builder().column("k", "BIGINT").column("due", "BIGINT").build()
    tables.create_temporary_view("events", due, schema)
    results = tables.to_changelog_stream(tables.sql_query(_QUERIES[given.shape]))
    results.map(Arrival(str(given.work)), Types.INT()).filter(lambda n: n < 0).print()
    client = env.execute_async("paced")
    time.sleep(max(0.0, start + given.seconds - time.time()))
    client.cancel()


if __name__ == "__main__":
    main()
