"""Statements that start jobs, which end in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.pyflink.running import in_this_process

from scurry.common.errors import ConfigurationError, ProgramError, ScurryError
from scurry.table import TableEnvironment


@pytest.fixture(autouse=True)
def here() -> Iterator[None]:
    with in_this_process():
        yield


def at(path: Path) -> str:
    return f"WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{path}')"


def written(path: Path) -> list[Any]:
    lines = [line for file in path.rglob("part*") for line in file.read_text().splitlines()]
    return sorted(map(json.loads, lines), key=repr)


def test_several_inserts_of_a_set_go_to_one_table(env: TableEnvironment, tmp_path: Path) -> None:
    env.execute_sql(f"CREATE TABLE t (a INT, b STRING) {at(tmp_path)}")
    env.execute_sql(
        "EXECUTE STATEMENT SET BEGIN INSERT INTO t SELECT 1, 'x'; INSERT INTO t (a) SELECT 2; END"
    )
    assert written(tmp_path) == [{"a": 1, "b": "x"}, {"a": 2, "b": None}]


def test_the_columns_of_a_query_in_another_order(env: TableEnvironment, tmp_path: Path) -> None:
    env.execute_sql(f"CREATE TABLE t (b, a) {at(tmp_path)} AS SELECT 1 AS a, 'x' AS b")
    assert env.from_path("t").get_schema().get_field_names() == ["b", "a"]
    assert written(tmp_path) == [{"b": "x", "a": 1}]


def test_a_declared_column_of_a_query_has_the_declared_type(
    env: TableEnvironment, tmp_path: Path
) -> None:
    query = "SELECT 1 AS a, 2 AS c"
    env.execute_sql(f"CREATE TABLE t (z STRING, c DOUBLE) {at(tmp_path)} AS {query}")
    schema = env.from_path("t").get_schema()
    assert schema.get_field_names() == ["z", "a", "c"]
    assert str(schema.get_field_data_type("c")) == "DOUBLE"
    assert written(tmp_path) == [{"z": None, "a": 1, "c": 2.0}]
    with pytest.raises(ProgramError, match="The column 'a' is one of the query's, too"):
        env.execute_sql(f"CREATE TABLE u (a AS 1) {at(tmp_path)} AS {query}")


def test_a_table_replaces_another(env: TableEnvironment, tmp_path: Path) -> None:
    create = "CREATE OR REPLACE TABLE t {} AS SELECT {} AS a"
    env.execute_sql(create.format(at(tmp_path / "one"), 1))
    env.execute_sql(create.format(at(tmp_path / "two"), "'x'"))
    assert written(tmp_path / "two") == [{"a": "x"}]
    assert env.from_path("t").get_schema().get_field_names() == ["a"]
    with pytest.raises(ScurryError):
        env.execute_sql("CREATE OR REPLACE TABLE t (a INT, b AS nope) WITH ('connector' = 'print')")
    assert env.from_path("t").get_schema().get_field_names() == ["a"]


def test_a_plan_in_a_file_is_executed(env: TableEnvironment, tmp_path: Path) -> None:
    plan, out = tmp_path / "plan.json", tmp_path / "out"
    env.execute_sql(f"CREATE TABLE t (a INT) {at(out)}")
    compiling = f"COMPILE PLAN '{plan}' {{}}FOR INSERT INTO t SELECT 1"
    env.execute_sql(compiling.format(""))
    assert not out.exists()
    with pytest.raises(ProgramError, match="already"):
        env.execute_sql(compiling.format(""))
    env.execute_sql(compiling.format("IF NOT EXISTS "))
    env.execute_sql(f"EXECUTE PLAN '{plan}'")
    assert written(out) == [{"a": 1}]
    env.execute_sql(f"COMPILE AND EXECUTE PLAN '{plan}' FOR INSERT INTO t SELECT 2")
    assert written(out) == [{"a": 1}, {"a": 1}]


def test_a_catalog_is_altered(env: TableEnvironment) -> None:
    env.execute_sql("CREATE CATALOG c COMMENT 'old' WITH ('type' = 'generic_in_memory')")
    env.execute_sql("CREATE DATABASE c.d")
    env.execute_sql("ALTER CATALOG c COMMENT 'new'")
    env.execute_sql("ALTER CATALOG c SET ('default-database' = 'd')")
    with env.execute_sql("SHOW CREATE CATALOG c").collect() as rows:
        (text,) = (row[0] for row in rows)
    assert "COMMENT 'new'" in text
    assert "'default-database' = 'd'" in text
    with env.execute_sql("SHOW DATABASES FROM c").collect() as rows:
        assert "d" in [row[0] for row in rows]
    with pytest.raises(ConfigurationError, match="does not know"):
        env.execute_sql("ALTER CATALOG c SET ('path' = 'x')")
    env.execute_sql("ALTER CATALOG c RESET ('default-database')")
    with pytest.raises(ConfigurationError, match="no option 'type'"):
        env.execute_sql("ALTER CATALOG c RESET ('type')")


def test_values_that_are_null_can_be_ignored(env: TableEnvironment) -> None:
    rows_of_two = "(VALUES (1), (CAST(NULL AS INT))) AS t(x)"
    query = f"SELECT ARRAY_AGG(x) IGNORE NULLS AS a, {{}} AS b FROM {rows_of_two}"
    with env.execute_sql(query.format("ARRAY_AGG(x)")).collect() as rows:
        assert [list(row) for row in rows][-1] == [[1], [1, None]]
    with pytest.raises(ProgramError, match="takes no values that are NULL"):
        env.sql_query(query.format("SUM(x) RESPECT NULLS"))
