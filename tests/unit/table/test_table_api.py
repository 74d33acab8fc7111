"""The Table API, run in this process: what each method gives, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pandas as pd
import pytest

from scurry.common.errors import ProgramError
from scurry.table import DataTypes, Table, TableEnvironment, TableFunction
from scurry.table.expressions import (
    UNBOUNDED_ROW,
    call,
    col,
    lit,
    range_,
    row,
    row_interval,
    with_columns,
    without_columns,
)
from scurry.table.udf import udf, udtf
from scurry.table.window import Over, Session, Slide, Tumble
from scurry.testing.relations import table_of
from scurry.testing.tables import changes_of_table


@pytest.fixture
def orders(env: TableEnvironment) -> Table:
    """Four orders of two users."""
    rows = [("ann", 1, 10.0), ("bob", 2, 20.0), ("ann", 3, 30.0), (None, 4, None)]
    return env.from_elements(rows, ["user", "id", "price"])


@pytest.fixture
def timed(env: TableEnvironment, tmp_path: Any) -> Table:
    """Rows with a rowtime."""
    lines = [
        '{"k": "a", "n": 1, "ts": "2024-01-01 00:00:01"}',
        '{"k": "b", "n": 2, "ts": "2024-01-01 00:00:02"}',
        '{"k": "a", "n": 3, "ts": "2024-01-01 00:00:12"}',
    ]
    (tmp_path / "x.json").write_text("\n".join(lines) + "\n")
    env.execute_sql(
        "CREATE TABLE timed (k STRING, n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
        f"WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{tmp_path}')"
    )
    return env.from_path("timed")


def rows(table: Table) -> list[tuple[Any, ...]]:
    found = table_of(changes_of_table(table, cuts=2))
    return sorted((row for row, count in found.items() for _ in range(count)), key=repr)


def names(table: Table) -> list[str]:
    return table.get_schema().get_field_names()


def test_columns(orders: Table) -> None:
    assert rows(
        orders.select(col("id"), (col("price") * 2).alias("twice")).where(col("id") < 3)
    ) == [
        (1, 20.0),
        (2, 40.0),
    ]
    assert names(orders.add_columns((col("id") + 1).alias("next"))) == [
        "user",
        "id",
        "price",
        "next",
    ]
    replaced = orders.add_or_replace_columns((col("id") * 10).alias("id"))
    assert names(replaced) == ["user", "id", "price"]
    assert [one[1] for one in rows(replaced.where(col("user") == "bob"))] == [20]
    assert names(orders.rename_columns(col("id").alias("key"))) == ["user", "key", "price"]
    assert names(orders.drop_columns(col("id"), col("price"))) == ["user"]
    assert names(orders.alias("a", "b")) == ["a", "b", "price"]
    assert names(orders.select(with_columns(range_("id", "price")))) == ["id", "price"]
    assert names(orders.select(with_columns(range_(1, 2)))) == ["user", "id"]
    assert names(orders.select(without_columns(col("id")))) == ["user", "price"]
    assert names(orders.select(orders.id, orders.user)) == ["id", "user"]
    assert names(orders.select(row(col("id"), "x").alias("r")).select(col("r").flatten)) == [
        "r$f0",
        "r$f1",
    ]


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda t: t.select(col("ix")), r"There is no column ix(.|\n)*id"),
        (lambda t: t.ix, "The table has no column 'ix'. There is: id"),
        (lambda t: t.select(1), "takes expressions"),
        (lambda t: t.add_columns(col("id") + 1, col("price").alias("id")), "column 'id' already"),
        (lambda t: t.rename_columns(col("ix").alias("x")), "no column 'ix'"),
        (lambda t: t.drop_columns(*map(col, ["user", "id", "price"])), "all columns"),
        (lambda t: t.join(t, col("id") == 1), "both tables have a column"),
        (lambda t: t.alias("a", "b", "c", "d"), "at most 3 names"),
        (lambda t: t.fetch(-1), "from 0 on"),
        (lambda t: t.order_by(), "at least one"),
        (lambda t: t.window(3), "window takes one such as"),
        (lambda t: t.union(5), "takes a Table"),
        (lambda t: t.select(with_columns(range_("price", "id"))), "goes forward"),
        (lambda t: t.select(col("user") + col("price")), r"."),
    ],
)
def test_mistakes_are_refused_in_their_line(orders: Table, build: Any, complaint: str) -> None:
    with pytest.raises((ProgramError, AttributeError), match=complaint):
        build(orders)


def test_groups(orders: Table) -> None:
    grouped = orders.group_by(col("user")).select(
        col("user"), col("id").count.alias("n"), col("price").sum.alias("total")
    )
    assert rows(grouped) == [("ann", 2, 40.0), ("bob", 1, 20.0), (None, 1, None)]
    assert rows(orders.select(col("price").max, col("user").count.distinct)) == [(30.0, 2)]
    assert rows(orders.select(col("user")).distinct()) == [("ann",), ("bob",), (None,)]


def test_joins(orders: Table, env: TableEnvironment) -> None:
    users = env.from_elements([("ann", "Bonn"), ("cid", "Kiel")], ["name", "city"])
    pair = [col("id"), col("city")]
    same = col("user") == col("name")
    assert rows(orders.join(users, same).select(*pair)) == [(1, "Bonn"), (3, "Bonn")]
    assert rows(orders.join(users).where(same).select(*pair)) == [(1, "Bonn"), (3, "Bonn")]
    left = orders.left_outer_join(users, same).select(*pair)
    assert rows(left) == [(1, "Bonn"), (2, None), (3, "Bonn"), (4, None)]
    right = orders.right_outer_join(users, same).select(*pair)
    assert rows(right) == [(1, "Bonn"), (3, "Bonn"), (None, "Kiel")]
    assert len(rows(orders.full_outer_join(users, same))) == 5
    assert rows(orders.where(col("user").in_(users.select(col("name")))).select(col("id"))) == [
        (1,),
        (3,),
    ]


def test_sets(orders: Table) -> None:
    one = orders.select(col("user"))
    two = orders.where(col("id") > 2).select(col("user"))
    assert len(rows(one.union_all(two))) == 6
    assert rows(one.union(two)) == [("ann",), ("bob",), (None,)]
    assert rows(one.minus(two)) == [("bob",)]
    assert rows(one.minus_all(two)) == [("ann",), ("bob",)]
    assert rows(one.intersect(two)) == [("ann",), (None,)]
    assert rows(one.intersect_all(two)) == [("ann",), (None,)]


def test_order(orders: Table) -> None:
    first = orders.select(col("id")).order_by(col("id").desc)
    assert rows(first.fetch(2)) == [(3,), (4,)]
    assert rows(first.offset(1).fetch(2)) == [(2,), (3,)]
    assert rows(first.limit(1, 3)) == [(1,)]


def test_windows(timed: Table) -> None:
    tumble = Tumble.over(lit(10).seconds).on(col("ts")).alias("w")
    found = (
        timed.window(tumble)
        .group_by(col("w"), col("k"))
        .select(col("k"), col("w").start, col("w").end, col("n").sum)
    )
    zero, ten = datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 10)  # noqa: DTZ001
    twenty = datetime(2024, 1, 1, 0, 0, 20)  # noqa: DTZ001
    assert rows(found) == [("a", zero, ten, 1), ("a", ten, twenty, 3), ("b", zero, ten, 2)]
    slide = Slide.over(lit(10).seconds).every(lit(5).seconds).on(col("ts")).alias("w")
    hopped = timed.window(slide).group_by(col("w")).select(col("w").start, col("n").count)
    assert sum(one[1] for one in rows(hopped)) == 6
    session = Session.with_gap(lit(5).seconds).on(col("ts")).alias("w")
    sessions = timed.window(session).group_by(col("w")).select(col("n").sum)
    assert rows(sessions) == [(3,), (3,)]
    with pytest.raises(ProgramError, match="needs the window"):
        timed.window(tumble).group_by(col("k"))
    counted = Tumble.over(row_interval(2)).on(col("ts")).alias("w")
    with pytest.raises(Exception, match="counts rows"):
        timed.window(counted).group_by(col("w")).select(col("n").sum)


def test_over(timed: Table) -> None:
    window = Over.partition_by(col("k")).order_by(col("ts")).preceding(UNBOUNDED_ROW).alias("w")
    found = timed.over_window(window).select(col("k"), col("n").sum.over(col("w")).alias("s"))
    assert rows(found) == [("a", 1), ("a", 4), ("b", 2)]


class Letters(TableFunction):
    """The letters of a text, with their places."""

    def eval(self, text: str) -> Iterator[tuple[str, int]]:
        """A row for each letter."""
        yield from ((letter, at) for at, letter in enumerate(text or ""))


def test_functions_of_the_user(env: TableEnvironment, orders: Table) -> None:
    twice = udf(lambda x: 2 * x, result_type=DataTypes.BIGINT())
    assert rows(orders.select(twice(col("id")))) == [(2,), (4,), (6,), (8,)]
    env.create_temporary_system_function("twice", twice)
    assert rows(orders.select(call("twice", col("id")))) == [(2,), (4,), (6,), (8,)]
    letters = udtf(Letters(), result_types=[DataTypes.STRING(), DataTypes.BIGINT()])
    joined = orders.join_lateral(letters(col("user")).alias("letter", "at")).where(col("id") == 2)
    assert rows(joined.select(col("letter"), col("at"))) == [("b", 0), ("b", 2), ("o", 1)]
    left = orders.left_outer_join_lateral(letters(col("user")).alias("letter", "at"))
    assert len(rows(left)) == 10


def test_rows_of_the_program(env: TableEnvironment) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    table = env.from_pandas(frame)
    assert rows(table) == [(1, "x"), (2, None)]
    assert names(env.from_pandas(frame, ["c", "d"])) == ["c", "d"]
    typed = env.from_elements(
        [(1, {"k": 2}, [None])],
        DataTypes.ROW(
            [
                DataTypes.FIELD("i", DataTypes.INT()),
                DataTypes.FIELD("m", DataTypes.MAP(DataTypes.STRING(), DataTypes.INT())),
                DataTypes.FIELD("l", DataTypes.ARRAY(DataTypes.STRING())),
            ]
        ),
    )
    assert changes_of_table(typed) == [("+I", 1, {"k": 2}, [None])]
    with pytest.raises(ProgramError, match="cannot be told from its values"):
        env.from_elements([(None,)])
    with pytest.raises(ProgramError, match="Row 1 has 1 values"):
        env.from_elements([(1, 2), (1,)], DataTypes.ROW([DataTypes.INT(), DataTypes.INT()]))
    with pytest.raises(TypeError, match="column 'f0' is no INT"):
        env.from_elements([("x",)], DataTypes.ROW([DataTypes.INT()]))


def test_sql_finds_tables_of_the_program(env: TableEnvironment, orders: Table) -> None:
    assert rows(env.sql_query(f"SELECT COUNT(*) FROM {orders}")) == [(4,)]
    env.create_temporary_view("o", orders)
    assert rows(env.sql_query("SELECT MAX(id) FROM o")) == [(4,)]
    assert env.list_temporary_views() == ["o"]
    assert env.drop_temporary_view("o")
    assert not env.drop_temporary_view("o")
