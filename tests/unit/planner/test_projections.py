"""Slice 1: projection, filter, expressions, UNNEST, table functions, VALUES, UNION ALL, views."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.unit.planner.tables import Tables

from scurry.common.data_types import DataTypes
from scurry.common.errors import FunctionError
from scurry.functions.udfs import udf, udtf


@pytest.fixture
def tables() -> Tables:
    made = Tables()
    made.create(
        "CREATE TABLE t (a INT, b STRING, arr ARRAY<INT>, r ROW<x INT, y STRING>, "
        "m MAP<STRING, INT>)",
        [
            (1, "x", [1, 2], {"x": 5, "y": "q"}, [("k", 1)]),
            (2, "y", [], {"x": 6, "y": "w"}, []),
            (3, None, None, None, None),
        ],
    )
    made.create(
        "CREATE TABLE u (k STRING, n INT)", [("+I", "a", 1), ("-U", "a", 1), ("+U", "a", 5)]
    )
    made.create_view("v", "SELECT a AS q, b FROM t WHERE a > 1")
    return made


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT 1, 'a' AS x", [(1, "a")]),
        ("SELECT a + 1, UPPER(b) FROM t WHERE a <= 2", [(2, "X"), (3, "Y")]),
        ("SELECT t.a FROM t AS t WHERE t.b IS NULL", [(3,)]),
        ("SELECT x.* FROM (SELECT a, b FROM t) AS x (q, w) WHERE q = 1", [(1, "x")]),
        ("SELECT a FROM t WHERE b LIKE 'x%' OR a IN (3, 4)", [(1,), (3,)]),
        ("SELECT a FROM t WHERE (a, b) IN ((1, 'x'), (2, 'z'))", [(1,)]),
        (
            "SELECT CASE a WHEN 1, 2 THEN 'few' ELSE 'more' END FROM t",
            [("few",), ("few",), ("more",)],
        ),
        ("SELECT CASE WHEN a > 1 THEN a END FROM t", [(2,), (3,), (None,)]),
        ("SELECT CAST(a AS STRING) || '!' FROM t WHERE a BETWEEN 2 AND 2", [("2!",)]),
        ("SELECT CAST('abc' AS VARCHAR(2)), CAST(300 AS TINYINT)", [("ab", 44)]),
        ("SELECT r.x, r.y FROM t WHERE a = 1", [(5, "q")]),
        ("SELECT t.r.x + 1 FROM t WHERE a < 3", [(6,), (7,)]),
        ("SELECT r.* FROM t WHERE a = 2", [(6, "w")]),
        ("SELECT arr[1], m['k'], CARDINALITY(arr) FROM t WHERE a = 1", [(1, 1, 2)]),
        ("SELECT q FROM v", [(2,), (3,)]),
        ("SELECT a, x FROM t CROSS JOIN UNNEST(arr) AS z(x)", [(1, 1), (1, 2)]),
        ("SELECT a, x FROM t, UNNEST(t.arr) AS z(x) WHERE x > 1", [(1, 2)]),
        (
            "SELECT a, x FROM t LEFT JOIN UNNEST(arr) AS z(x) ON TRUE",
            [(1, 1), (1, 2), (2, None), (3, None)],
        ),
        ("SELECT x, i FROM t CROSS JOIN UNNEST(arr) WITH ORDINALITY AS z(x, i)", [(1, 1), (2, 2)]),
        ("SELECT k, w FROM t CROSS JOIN UNNEST(m) AS z(k, w)", [("k", 1)]),
        ("SELECT x FROM UNNEST(ARRAY[7, 8]) AS z(x)", [(7,), (8,)]),
        ("SELECT x, y FROM UNNEST(ARRAY[ROW(1, 'a'), NULL]) AS z(x, y)", [(1, "a")]),
        ("SELECT a FROM t ORDER BY a LIMIT 0", []),
        ("SELECT a FROM t WHERE NULL", []),
        ("SELECT t.a FROM t LEFT JOIN u ON NULL WHERE n IS NULL", [(1,), (2,), (3,)]),
        ("SELECT NULL = NULL, NULLIF(NULL, NULL), NULL < NULL", [(None, None, None)]),
        ("SELECT MAX(NULL), FIRST_VALUE(NULL) FROM t", [(None, None)]),
        ("SELECT COUNT(*) FROM (SELECT a FROM t ORDER BY NULL LIMIT 2)", [(2,)]),
        ("VALUES (1, 'a'), (2, NULL)", [(1, "a"), (2, None)]),
        ("SELECT x + 1 FROM (VALUES (1), (2)) AS t(x)", [(2,), (3,)]),
        ("SELECT x FROM (VALUES (1 + 1), (ABS(-7))) AS t(x)", [(2,), (7,)]),
        ("SELECT a FROM t UNION ALL SELECT q FROM v", [(1,), (2,), (2,), (3,), (3,)]),
        ("SELECT a FROM t WHERE a = 1 UNION ALL SELECT CAST(7 AS BIGINT)", [(1,), (7,)]),
        (
            "WITH w AS (SELECT a FROM t WHERE a > 1), x(y) AS (SELECT a * 10 FROM w) "
            "SELECT * FROM w UNION ALL SELECT * FROM x",
            [(2,), (20,), (3,), (30,)],
        ),
        ("TABLE v", [(2, "y"), (3, None)]),
        ("SELECT JSON_VALUE('{\"a\": 1}', '$.a' RETURNING INT DEFAULT -1 ON EMPTY)", [(1,)]),
        ("SELECT EXTRACT(DAY FROM DATE '2024-02-29'), TRIM(LEADING 'x' FROM 'xxy')", [(29, "y")]),
        ("SELECT -1, - 2.5, 3000000000, INTERVAL '1' DAY = INTERVAL '24' HOUR", None),
    ],
)
def test_queries(tables: Tables, query: str, expected: list[Any] | None) -> None:
    found = tables.rows(query)
    if expected is None:
        assert [str(value) for value in found[0]] == ["-1", "-2.5", "3000000000", "True"]
    else:
        assert sorted(map(repr, found)) == sorted(map(repr, expected))


def test_changes_pass_with_their_kinds(tables: Tables) -> None:
    found = tables.changes("SELECT n * 2 FROM u")
    assert found == [("+I", 2), ("-U", 2), ("+U", 10)]


def test_functions_of_the_user(tables: Tables) -> None:
    tables.functions["twice"] = udf(
        lambda n: None if n is None else n * 2,
        input_types=[DataTypes.BIGINT()],
        result_type=DataTypes.BIGINT(),
    )

    def letters(text: str | None, times: int) -> Iterator[tuple[str, int]]:
        for letter in text or "":
            for at in range(times):
                yield letter, at

    tables.functions["letters"] = udtf(
        letters,
        input_types=[DataTypes.STRING(), DataTypes.INT()],
        result_types=[DataTypes.STRING(), DataTypes.INT()],
    )
    assert tables.rows("SELECT twice(a) FROM t") == [(2,), (4,), (6,)]
    joined = "SELECT a, c, i FROM t, LATERAL TABLE(letters(b, a)) AS x(c, i)"
    assert tables.rows(joined) == [(1, "x", 0), (2, "y", 0), (2, "y", 1)]
    left = "SELECT a, c FROM t LEFT JOIN LATERAL TABLE(letters(b, 1)) AS x(c, i) ON TRUE"
    assert tables.rows(left) == [(1, "x"), (2, "y"), (3, None)]


def test_names_of_columns(tables: Tables) -> None:
    def names(query: str) -> list[str]:
        return [column.name for column in tables.bind(query).columns]

    assert names("SELECT a, a, a + 1, r.x, b AS `my b` FROM t") == [
        "a",
        "a0",
        "EXPR$2",
        "x",
        "my b",
    ]
    assert names("SELECT * FROM v") == ["q", "b"]


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT {' + '.join(['a'] * 190)} FROM t",
        f"SELECT {'ABS(' * 90}a{')' * 90} FROM t",
        f"SELECT * FROM {'(SELECT a FROM ' * 30}t{') AS x' * 30}",
        f"SELECT a FROM t WHERE {' AND '.join(['a > 0'] * 500)}",
    ],
    ids=["chain", "calls", "queries", "conditions"],
)
def test_what_the_parser_takes_can_be_planned_and_run(tables: Tables, query: str) -> None:
    assert len(tables.rows(query)) == 3


def test_views_do_not_see_common_tables(tables: Tables) -> None:
    query = "WITH t AS (SELECT 9 AS a) SELECT q FROM v UNION ALL SELECT a FROM t"
    assert tables.rows(query) == [(2,), (3,), (9,)]


def test_a_table_is_read_once_with_all_columns_that_are_needed(tables: Tables) -> None:
    rows = tables.create("CREATE TABLE wide (a INT, b INT, c INT, d INT)", [(1, 2, 3, 4)])
    query = "SELECT a FROM wide WHERE d > 0 UNION ALL SELECT c FROM wide"
    assert tables.rows(query) == [(1,), (3,)]
    (request,) = rows.requests
    assert [column.name for column in request.columns] == ["a", "c", "d"]
    assert request.filters == ()


def test_a_source_is_told_the_filters(tables: Tables) -> None:
    rows = tables.create("CREATE TABLE wide (a INT, b INT, c INT)", [(1, 2, 3)])
    tables.rows("SELECT c FROM (SELECT b AS x, c FROM wide) WHERE x > 1 AND c IS NOT NULL")
    (request,) = rows.requests
    assert [column.name for column in request.columns] == ["b", "c"]
    assert [str(one) for one in request.filters] == ["($0 > 1)", "IS NOT NULL($1)"]


def test_a_column_is_read_once_for_a_common_table_used_twice(tables: Tables) -> None:
    rows = tables.create("CREATE TABLE once (a INT)", [(1,)])
    query = "WITH w AS (SELECT a + 1 AS b FROM once) SELECT b FROM w UNION ALL SELECT b FROM w"
    assert tables.rows(query) == [(2,), (2,)]
    assert len(rows.requests) == 1


def test_a_row_that_cannot_be_computed_is_shown_with_its_values() -> None:
    tables = Tables()
    rows = [(at, 5, None) for at in range(1, 9)]
    rows += [(10, 0, "no"), (11, 0, "number")]
    tables.create("CREATE TABLE parts (a INT, b INT, c STRING)", rows)
    with pytest.raises(FunctionError) as caught:
        tables.rows("SELECT a / b FROM parts WHERE a > 0")
    assert "division by zero" in caught.value.exception
    assert "a / b" in caught.value.exception
    assert caught.value.operator.startswith("Project(")
    assert caught.value.element == "{'a': 10, 'b': 0}"
    with pytest.raises(FunctionError) as caught:
        tables.rows("SELECT a FROM parts WHERE CAST(c AS INT) > 1")
    assert caught.value.element == "{'c': 'no'}"
