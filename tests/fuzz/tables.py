"""Building the relational steps of random programs: streams become tables, and tables streams."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.fuzz.model_tables import WINDOW_OF_PAIRS
from tests.fuzz.patterns import MATCHES
from tests.fuzz.queries import filled
from tests.fuzz.records import MODULUS, ROW_TYPE, declared, fields, fold, shaped
from tests.fuzz.steps import Step

from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.data_stream import DataStream
from scurry.table import DataTypes, Schema, StreamTableEnvironment

_TIME = (
    Schema.new_builder()
    .column_by_metadata("ts", DataTypes.TIMESTAMP_LTZ(3), "rowtime")
    .watermark("ts", "SOURCE_WATERMARK()")
    .build()
)


class TableBuilder:
    """Makes tables of streams, and streams of queries, within one environment."""

    def __init__(self, env: StreamExecutionEnvironment) -> None:
        self.tables = StreamTableEnvironment.create(env)
        self._made = 0

    def named(self, stream: DataStream, shape: str, timed: bool) -> str:
        """The name of a view of a stream's records, with their timestamps as ``ts``."""
        if declared(shape) is None or stream.get_type() != declared(shape):
            stream, shape = stream.map(lambda record: shaped("row", *fields(record)), ROW_TYPE), ""
        columns = [] if shape != "typed tuple" else ["f0 AS k", "f1 AS t", "f2 AS v"]
        table = self.tables.from_data_stream(stream, *([_TIME] if timed else []))
        if columns:
            self.tables.create_temporary_view(self._name(), table)
            wanted = ", ".join([*columns, *(["ts"] if timed else [])])
            table = self.tables.sql_query(f"SELECT {wanted} FROM {self._last}")
        self.tables.create_temporary_view(self._name(), table)
        return self._last

    def view(self, query: str) -> str:
        """The name of a view of a query."""
        self.tables.create_temporary_view(self._name(), self.tables.sql_query(query))
        return self._last

    def rows(self, query: str) -> DataStream:
        """The rows of a query whose result only grows."""
        return self.tables.to_data_stream(self.tables.sql_query(query))

    def changes(self, query: str, afterwards: str | None) -> DataStream:
        """The changes of a query's result, or of a query over these."""
        stream = self.tables.to_changelog_stream(self.tables.sql_query(query))
        if afterwards is None:
            return stream
        again = self.tables.from_changelog_stream(stream)
        self.tables.create_temporary_view(self._name(), again)
        whole = self.tables.sql_query(afterwards.format(self._last))
        return self.tables.to_changelog_stream(whole)

    def _name(self) -> str:
        self._made += 1
        return self._last

    @property
    def _last(self) -> str:
        return f"v{self._made}"


def select(step: Step, tables: TableBuilder, stream: DataStream, shape: str) -> DataStream:
    """Rows filtered and changed."""
    name, after = tables.named(stream, shape, step["timed"]), step["shape"]
    time = ", ts" if step["timed"] else ""
    text = f"SELECT k, t, MOD(v + {step['add']}, {MODULUS}) AS v{time} FROM {name}"
    rows = tables.rows(f"{text} WHERE MOD(v, 3) <> {step['without']}")
    return rows.map(lambda row: shaped(after, *fields(row)), declared(after))


def window(step: Step, tables: TableBuilder, stream: DataStream, shape: str) -> DataStream:
    """Aggregates of windows."""
    return _windowed(step, tables, tables.named(stream, shape, timed=True))


def _windowed(step: Step, tables: TableBuilder, name: str) -> DataStream:
    after = step["shape"]
    key = "0 AS k" if step["all"] else "k"
    by = "" if step["all"] else "k, "
    calls = "COUNT(*), SUM(v), MIN(v), MAX(v)"
    times = "window_start, window_end, window_time"
    text = f"SELECT {key}, {calls}, window_time FROM TABLE({_function(step, name)})"
    rows = tables.rows(f"{text} GROUP BY {by}{times}")

    def finish(row: Any) -> Any:
        key, *values, time = row
        return shaped(after, key, round(time.timestamp() * 1000), fold(values))

    return rows.map(finish, declared(after))


def _function(step: Step, name: str) -> str:
    """The window table function of a step."""
    kind, size, slide = step["assigner"]
    if kind == "session":
        table = name if step["all"] else f"{name} PARTITION BY k"
        return f"SESSION(TABLE {table}, DESCRIPTOR(ts), {_interval(size)})"
    start = f"(TABLE {name}, DESCRIPTOR(ts), "
    if kind == "tumbling":
        return f"TUMBLE{start}{_interval(size)})"
    called = "HOP" if kind == "sliding" else "CUMULATE"
    return f"{called}{start}{_interval(slide)}, {_interval(size)})"


def _interval(ms: int) -> str:
    return f"INTERVAL '{ms / 1000:.3f}' SECOND"


def over(step: Step, tables: TableBuilder, stream: DataStream, shape: str) -> DataStream:
    """For each row the sum of the rows of its key up to it in time."""
    name, after = tables.named(stream, shape, timed=True), step["shape"]
    frame = "UNBOUNDED" if step["back"] is None else _interval(step["back"])
    over = f"PARTITION BY k ORDER BY ts RANGE BETWEEN {frame} PRECEDING AND CURRENT ROW"
    rows = tables.rows(f"SELECT k, t, SUM(v) OVER ({over}) AS v, ts FROM {name}")

    def finish(row: Any) -> Any:
        k, t, v = fields(row)
        return shaped(after, k, t, v % MODULUS)

    return rows.map(finish, declared(after))


def join(step: Step, tables: TableBuilder, left: DataStream, right: DataStream) -> DataStream:
    """Pairs of rows of a key that are not far from each other in time, or windows of these."""
    (lower, upper), after = step["between"], step["shape"]
    one, other = (tables.named(side, "any", timed=True) for side in (left, right))
    time = {"left": ", a.ts", "right": ", b.ts", "none": ""}[step["time"]]
    pairs = (
        f"SELECT a.k, CASE WHEN a.t > b.t THEN a.t ELSE b.t END AS t, "
        f"MOD(2 * a.v + 3 * b.v, {MODULUS}) AS v{time} FROM {one} AS a JOIN {other} AS b "
        f"ON a.k = b.k AND b.ts BETWEEN a.ts {_moved(lower)} AND a.ts {_moved(upper)}"
    )
    if step["time"] != "none":
        name = tables.view(pairs)
        return _windowed(Step("", (), {**step.args, **WINDOW_OF_PAIRS}), tables, name)
    return tables.rows(pairs).map(lambda row: shaped(after, *fields(row)), declared(after))


def _moved(ms: int) -> str:
    return f"{'-' if ms < 0 else '+'} {_interval(abs(ms))}"


def changes(step: Step, tables: TableBuilder, stream: DataStream, shape: str) -> DataStream:
    """The changes of a query over a table."""
    name = tables.named(stream, shape, timed=False)
    return tables.changes(filled(step["query"], [name]), step["afterwards"])


def changes_of_two(
    step: Step, tables: TableBuilder, left: DataStream, right: DataStream
) -> DataStream:
    """The changes of a query over two tables."""
    names = [tables.named(stream, "any", timed=False) for stream in (left, right)]
    return tables.changes(filled(step["query"], names), step["afterwards"])


def match(step: Step, tables: TableBuilder, stream: DataStream, shape: str) -> DataStream:
    """Matches of a pattern."""
    name, after = tables.named(stream, shape, timed=True), step["shape"]
    rows = tables.rows(filled(MATCHES[step["query"]][0], [name]))

    def finish(row: Any) -> Any:
        key, *values, time = row
        return shaped(after, key, round(time.timestamp() * 1000), fold(values))

    return rows.map(finish, declared(after))


STEPS: dict[str, Callable[..., DataStream]] = {
    "select": select,
    "table_window": window,
    "over": over,
    "match": match,
    "table_join": join,
    "changes": changes,
    "changes_of_two": changes_of_two,
}
