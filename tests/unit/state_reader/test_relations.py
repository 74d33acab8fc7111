"""What operators of SQL keep, read as tables: it is what plain Python makes of the rows so far."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from scurry.common import Configuration, Row
from scurry.connectors.tables.driver_rows import CollectRows
from scurry.datastream.transformation import Transformation
from scurry.plan import nodes
from scurry.state.inventory import OperatorRecord
from scurry.state.stored_tables import StoredJournal
from scurry.state.table_forms import TableForm
from scurry.state_reader.relations import comparable, read_relation
from scurry.table import DataTypes, EnvironmentSettings, TableEnvironment
from scurry.table.relations import row_type_of
from scurry.testing.local import LocalJob

BEGIN = datetime.fromisoformat("2026-01-01")
#: user, amount, price, time; one row is not read: at the end of the input windows would be over
ORDERS = [
    (f"user {n * n % 7}", n % 5, Decimal(n) / 4, BEGIN + timedelta(seconds=n)) for n in range(60)
]
READ = 59
ORDER = DataTypes.ROW(
    [
        DataTypes.FIELD("u", DataTypes.STRING()),
        DataTypes.FIELD("a", DataTypes.BIGINT()),
        DataTypes.FIELD("p", DataTypes.DECIMAL(10, 2)),
        DataTypes.FIELD("ts", DataTypes.TIMESTAMP(3)),
    ]
)


class Held:
    """The tables of all operators of a job."""

    def __init__(self, job: LocalJob) -> None:
        epoch = job.checkpoint.last_epoch()
        assert epoch is not None
        self._inventory = {uid: one for uid, one in epoch.inventory.items() if one.forms}
        self._journals = job.checkpoint.journals
        self._groups = job._job.spec.max_parallelism

    def of(self, kind: str) -> dict[str, pa.Table]:
        """The tables of the operator whose layout is of that kind, by name."""
        ((uid, record),) = [
            (uid, one) for uid, one in self._inventory.items() if self._kind(one) == kind
        ]
        return {name: self._read(uid, record, name) for name in record.forms}

    def forms(self, kind: str) -> list[tuple[TableForm, pa.Table]]:
        """The same with their forms."""
        ((uid, record),) = [
            (uid, one) for uid, one in self._inventory.items() if self._kind(one) == kind
        ]
        return [(form, self._read(uid, record, name)) for name, form in record.forms.items()]

    def _kind(self, record: OperatorRecord) -> str:
        return record.layout if isinstance(record.layout, str) else record.layout.kind

    def _read(self, uid: str, record: OperatorRecord, name: str) -> pa.Table:
        places = [each for each in self._journals if each.stage in record.stages]
        found = [StoredJournal.of(self._journals[place]) for place in sorted(places)]
        journals = [journal for journal in found if journal is not None]
        return read_relation(journals, uid, record.forms[name], self._groups, "json")


@contextmanager
def running(query: str, parallelism: int, in_runs: bool, **settings: str) -> Iterator[Held]:
    """What a query holds after all orders but the last."""
    env = environment(in_runs, **settings)
    rows = [Row(*order) for order in ORDERS]
    env.create_temporary_view("orders", env.from_elements(rows, ORDER))
    with stopped(env, query, parallelism) as held:
        yield held


@contextmanager
def timed(query: str, parallelism: int, in_runs: bool, directory: Path) -> Iterator[Held]:
    """The same with event time, out of a file."""
    lines = [
        json.dumps({"u": u, "a": a, "p": str(p), "ts": ts.isoformat(" ")}) for u, a, p, ts in ORDERS
    ]
    (directory / "orders.json").write_text("\n".join(lines))
    env = environment(in_runs)
    env.execute_sql(
        "CREATE TABLE orders (u STRING, a BIGINT, p DECIMAL(10, 2), ts TIMESTAMP(3), "
        "WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH "
        f"('connector' = 'filesystem', 'format' = 'json', 'path' = '{directory}/orders.json')"
    )
    with stopped(env, query, parallelism) as held:
        yield held


def environment(in_runs: bool, **settings: str) -> TableEnvironment:
    given = {**settings, **({"scurry.state.runs-above": "0"} if in_runs else {})}
    configuration = Configuration.of(given)
    made = EnvironmentSettings.new_instance().with_configuration(configuration).build()
    return TableEnvironment.create(made)


@contextmanager
def stopped(env: TableEnvironment, query: str, parallelism: int) -> Iterator[Held]:
    table = env.sql_query(query)
    sink = CollectRows(row_type_of(table.relation))
    read = env.jobs.relation_step(table.relation)
    step = Transformation(nodes.Sink, "Collect", [read], sink=sink)
    with (
        env.stream_environment._only([step], parallelism),
        LocalJob(env.stream_environment._compile(None), clock=1000) as job,
    ):
        for size in (20, 20, READ - 40):
            job.step(size)
        yield Held(job)


def counted(table: pa.Table, *names: str) -> Counter[Any]:
    """The rows of a table, of these columns only."""
    return Counter(tuple(row[name] for name in names) for row in table.to_pylist())


def by_user(orders: Iterable[Any] = ORDERS[:READ]) -> dict[str, list[Any]]:
    found = defaultdict(list)
    for order in orders:
        found[order[0]].append(order)
    return found


ways = pytest.mark.parametrize(
    ("parallelism", "in_runs"), [(1, False), (3, True)], ids=["in the log", "in runs"]
)


@ways
def test_aggregates_of_groups(parallelism: int, in_runs: bool) -> None:
    query = "SELECT u, SUM(a), MAX(p), COUNT(DISTINCT a), COUNT(*) FROM orders GROUP BY u"
    with running(query, parallelism, in_runs) as held:
        tables = held.of("aggregates of groups")
    users = by_user()
    values = tables["values"]
    assert values.schema.field("u").type == pa.string()
    assert counted(values, "u", "SUM(a).sum", "COUNT(*).n") == Counter(
        (user, sum(o[1] for o in mine), len(mine)) for user, mine in users.items()
    )
    (distinct,) = [table for name, table in tables.items() if name != "values"]
    assert distinct.num_rows == len({order[:2] for order in ORDERS[:READ]})


@ways
def test_keys_of_several_types_come_back_as_columns(parallelism: int, in_runs: bool) -> None:
    query = "SELECT p, ts, a, COUNT(*) FROM orders GROUP BY p, ts, a"
    with running(query, parallelism, in_runs) as held:
        values = held.of("aggregates of groups")["values"]
    assert values.schema.field("p").type == pa.decimal128(10, 2)
    assert pa.types.is_timestamp(values.schema.field("ts").type)
    assert counted(values, "p", "ts", "a") == Counter((o[2], o[3], o[1]) for o in ORDERS[:READ])


def test_keys_that_are_null_or_too_long_to_be_kept() -> None:
    query = (
        "SELECT k, COUNT(*) FROM (SELECT CASE a WHEN 0 THEN NULL WHEN 1 THEN REPEAT('x', 600) "
        "ELSE u END AS k FROM orders) GROUP BY k"
    )
    with running(query, 1, False) as held:
        values = held.of("aggregates of groups")["values"]
    expected = Counter(None if o[1] < 2 else o[0] for o in ORDERS[:READ])
    found = counted(values, "k", "COUNT(*).n")
    kept = {key: n for key, n in expected.items() if key is not None}
    alone = Counter(o[1] for o in ORDERS[:READ] if o[1] < 2)
    assert found == Counter([*kept.items(), (None, alone[0]), (None, alone[1])])


def test_a_time_to_live_says_when_values_were_written() -> None:
    query = "SELECT u, COUNT(*) FROM orders GROUP BY u"
    with running(query, 1, False, **{"table.exec.state.ttl": "1 h"}) as held:
        values = held.of("aggregates of groups")["values"]
    assert set(values["written"].to_pylist()) == {1000}


@ways
def test_both_sides_of_a_join(parallelism: int, in_runs: bool) -> None:
    query = "SELECT l.u FROM orders AS l LEFT JOIN orders AS r ON l.u = r.u AND l.a < r.a"
    with running(query, parallelism, in_runs) as held:
        tables = held.of("columns of rows of two sides")
    assert set(tables) == {"rows left", "rows right"}
    partners = Counter(
        (one[0], one[1], sum(other[1] > one[1] for other in by_user()[one[0]]))
        for one in ORDERS[:READ]
    )
    assert counted(tables["rows left"], "u", "a", "partners") == partners
    assert counted(tables["rows right"], "u", "a") == Counter(o[:2] for o in ORDERS[:READ])


@ways
def test_the_best_rows_of_each_key(parallelism: int, in_runs: bool) -> None:
    ranked = (
        "SELECT u, a, p FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY u ORDER BY p DESC) AS n "
        "FROM orders) WHERE n <= {}"
    )
    best = {user: sorted((o[2] for o in mine), reverse=True) for user, mine in by_user().items()}
    with running(ranked.format(2), parallelism, in_runs) as held:
        rows = held.of("first rows of each key")["rows"]
    assert counted(rows, "u", "p") == Counter((u, p) for u, ps in best.items() for p in ps[:2])
    with running(ranked.format(1), parallelism, in_runs) as held:
        row = held.of("columns of a row of each key")["rows"]
    assert counted(row, "u", "p") == Counter((u, ps[0]) for u, ps in best.items())


def millis(time: datetime) -> int:
    return int((time - datetime.fromisoformat("1970-01-01")).total_seconds() * 1000)


WATERMARK = ORDERS[READ - 1][3] - timedelta(seconds=1)
SIZE = timedelta(seconds=20)


@ways
def test_windows_that_are_open(parallelism: int, in_runs: bool, tmp_path: Path) -> None:
    query = (
        "SELECT u, SUM(a), AVG(p), window_start FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), "
        "INTERVAL '20' SECOND)) GROUP BY u, window_start, window_end"
    )
    with timed(query, parallelism, in_runs, tmp_path) as held:
        windows = held.of("aggregates by window")["windows"]
    start = BEGIN + (WATERMARK - BEGIN) // SIZE * SIZE
    mine = by_user(o for o in ORDERS[:READ] if o[3] >= start)
    bounds = {"start": millis(start), "end": millis(start + SIZE)}
    found = {row["u"]: row for row in windows.to_pylist()}
    assert found.keys() == mine.keys()
    for user, orders in mine.items():
        assert found[user]["window"] == bounds
        assert found[user]["SUM(a)"] == sum(o[1] for o in orders)
        assert float(found[user]["AVG(p)"]) == pytest.approx(
            float(sum(o[2] for o in orders) / len(orders)), abs=1e-5
        )


@ways
def test_windows_that_keep_rows(parallelism: int, in_runs: bool, tmp_path: Path) -> None:
    query = (
        "SELECT u, COUNT(DISTINCT a) FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), "
        "INTERVAL '20' SECOND)) GROUP BY u, window_start, window_end"
    )
    with timed(query, parallelism, in_runs, tmp_path) as held:
        windows = held.of("aggregates by window")["windows"]
    start = BEGIN + (WATERMARK - BEGIN) // SIZE * SIZE
    mine = by_user(o for o in ORDERS[:READ] if o[3] >= start)
    found = {row["u"]: sorted(o["a"] for o in row["rows"]) for row in windows.to_pylist()}
    assert found == {user: sorted(o[1] for o in orders) for user, orders in mine.items()}


@ways
def test_sessions_that_are_open(parallelism: int, in_runs: bool, tmp_path: Path) -> None:
    query = (
        "SELECT u, SUM(a) FROM TABLE(SESSION(TABLE orders PARTITION BY u, DESCRIPTOR(ts), "
        "INTERVAL '8' SECOND)) GROUP BY u, window_start, window_end"
    )
    with timed(query, parallelism, in_runs, tmp_path) as held:
        sessions = held.of("aggregates by session")["windows"]
    gap = timedelta(seconds=8)
    expected = Counter[Any]()
    for user, orders in by_user().items():
        last = orders[:1]
        for order in orders[1:]:
            last = [*last, order] if order[3] < last[-1][3] + gap else [order]
        if last[-1][3] + gap > WATERMARK:
            window = millis(last[0][3]), millis(last[-1][3] + gap)
            expected[user, sum(o[1] for o in last), *window] += 1
    assert expected
    assert expected == Counter(
        (row["u"], row["SUM(a)"], row["window"]["start"], row["window"]["end"])
        for row in sessions.to_pylist()
    )


@ways
def test_rows_that_later_rows_look_at(parallelism: int, in_runs: bool, tmp_path: Path) -> None:
    query = (
        "SELECT u, SUM(a) OVER (PARTITION BY u ORDER BY ts "
        "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM orders"
    )
    with timed(query, parallelism, in_runs, tmp_path) as held:
        tables = held.of("rows before a row")
    passed = by_user(o for o in ORDERS[:READ] if o[3] <= WATERMARK)
    waiting = Counter((o[0], millis(o[3])) for o in ORDERS[:READ] if o[3] > WATERMARK)
    assert counted(tables["rows waiting"], "u", "time") == waiting
    kept = Counter((user, o[1]) for user, orders in passed.items() for o in orders[-2:])
    assert counted(tables["rows history"], "u", "a") == kept


def test_tables_of_two_moments_are_compared_by_key_or_by_row() -> None:
    query = "SELECT u, COUNT(*) FROM orders GROUP BY u"
    with running(query, 1, False) as held:
        ((form, table),) = held.forms("aggregates of groups")
        shown = comparable(table, form)
    assert shown.column_names == ["key", "value"]
    assert dict(zip(*shown.to_pydict().values(), strict=True)) == Counter(
        o[0] for o in ORDERS[:READ]
    )
    join = "SELECT l.u, l.a, l.p FROM orders AS l JOIN orders AS r ON l.u = r.u"
    with running(join, 1, False) as held:
        form, table = held.forms("columns of rows of two sides")[0]
        rows = comparable(table.select(["u", "a"]), form).to_pylist()
    assert {(row["key"]["u"], row["key"]["a"]): row["value"] for row in rows} == Counter(
        o[:2] for o in ORDERS[:READ]
    )
