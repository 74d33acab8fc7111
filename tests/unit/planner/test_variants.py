"""VARIANT: JSON as values, in queries; single expressions are compared with Flink elsewhere."""

from __future__ import annotations

import pytest
from tests.unit.planner.tables import Tables

from scurry.common.errors import FunctionError, ScurryError
from scurry.table import EnvironmentSettings, TableEnvironment


@pytest.fixture
def tables() -> Tables:
    made = Tables()
    texts = ['{"k": "a", "n": [1, 2]}', '{"n": [1, 2], "k": "a"}', '{"k": "b"}', "[", None]
    made.create("CREATE TABLE t (id INT, j STRING)", list(enumerate(texts)))
    return made


def test_a_variant_reaches_python_as_its_json(tables: Tables) -> None:
    found = tables.rows("SELECT id, TRY_PARSE_JSON(j) FROM t WHERE id <> 1")
    assert found == [(0, '{"k":"a","n":[1,2]}'), (2, '{"k":"b"}'), (3, None), (4, None)]


def test_variants_are_grouped_by_what_they_say(tables: Tables) -> None:
    query = "SELECT v, COUNT(*) FROM (SELECT TRY_PARSE_JSON(j) AS v FROM t) AS q GROUP BY v"
    found = tables.rows(query, cuts=1, crash=[2], parallelism=2)
    assert found == [('{"k":"a","n":[1,2]}', 2), ('{"k":"b"}', 1), (None, 2)]


def test_items_of_rows(tables: Tables) -> None:
    query = (
        "SELECT id, JSON_STRING(v['k']), JSON_STRING(v['n'][id + 1]) "
        "FROM (SELECT id, TRY_PARSE_JSON(j) AS v FROM t) AS q"
    )
    assert tables.rows(query) == [
        (0, '"a"', "1"),
        (1, '"a"', "2"),
        (2, '"b"', None),
        (3, None, None),
        (4, None, None),
    ]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("PARSE_JSON('{')", "'{' is no JSON; TRY_PARSE_JSON gives NULL for it"),
        ('PARSE_JSON(\'{"a": 1, "a": 2}\')', "has a key twice in an object"),
        ("PARSE_JSON('[1]')['a']", "the VARIANT [1] is no object, so it has no key 'a'"),
        ("PARSE_JSON('{}')[1]", "the VARIANT {} is no array, so it has no position 1"),
    ],
)
def test_what_fails_says_why(tables: Tables, expression: str, message: str) -> None:
    with pytest.raises((FunctionError, ScurryError)) as failure:
        tables.rows(f"SELECT JSON_STRING({expression}) FROM t")
    assert message in str(failure.value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("PARSE_JSON('1') < PARSE_JSON('2')", "neither less nor greater"),
        ("PARSE_JSON('1') BETWEEN PARSE_JSON('0') AND PARSE_JSON('2')", "neither less nor greater"),
        ("GREATEST(PARSE_JSON('1'), PARSE_JSON('2'))", "neither less nor greater"),
        ("MIN(PARSE_JSON(j))", "MIN"),
        ("MAX(PARSE_JSON(j)) OVER (ORDER BY id)", "MAX"),
        ("CAST(NULL AS VARIANT)", "The type VARIANT is not supported for columns and casts"),
        ("ROW_NUMBER() OVER (ORDER BY PARSE_JSON(j))", "ORDER BY takes no VARIANT"),
        ("PARSE_JSON('1')[1.5]", "a VARIANT has positions, from 1 on, and texts as keys"),
        ("CAST(PARSE_JSON('1') AS INT)", "Values of VARIANT cannot be cast to INT"),
    ],
)
def test_what_is_refused(tables: Tables, expression: str, message: str) -> None:
    with pytest.raises(ScurryError) as refusal:
        tables.rows(f"SELECT {expression} FROM t")
    assert message in str(refusal.value)
    assert "^" in str(refusal.value)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT id, PARSE_JSON(j) AS v FROM t ORDER BY v LIMIT 1",
        "SELECT id FROM t ORDER BY PARSE_JSON(j) LIMIT 1",
        "SELECT PARSE_JSON(j) AS v FROM t UNION ALL SELECT PARSE_JSON('1') ORDER BY v LIMIT 1",
    ],
)
def test_rows_have_no_order_by_a_variant(tables: Tables, query: str) -> None:
    with pytest.raises(ScurryError) as refusal:
        tables.rows(query)
    assert "ORDER BY takes no VARIANT: its values are neither less nor greater" in str(
        refusal.value
    )
    assert "Order by JSON_STRING of it" in str(refusal.value)
    assert "^" in str(refusal.value)


def test_no_column_is_declared_as_a_variant() -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    with pytest.raises(ScurryError) as refusal:
        env.execute_sql("CREATE TABLE u (v VARIANT) WITH ('connector' = 'print')")
    assert "The type VARIANT is not supported for columns and casts" in str(refusal.value)
    assert "Declare STRING: PARSE_JSON makes a VARIANT of it in a query" in str(refusal.value)
