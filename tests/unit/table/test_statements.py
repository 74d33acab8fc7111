"""Statements that change and show what has a name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scurry.common.errors import ConfigurationError, NotSupportedError, ProgramError
from scurry.sql.ast import Statement
from scurry.table import ResultKind, TableEnvironment
from scurry.table.catalog import (
    CatalogException,
    GenericInMemoryCatalog,
    ObjectPath,
    TableNotExistException,
)
from scurry.table.statements import EXECUTORS
from scurry.table.statements.gaps import GAPS

ORDERS = """
CREATE TABLE orders (
  id BIGINT, price DOUBLE COMMENT 'in euros', twice AS price * 2,
  moved TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
  ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND,
  PRIMARY KEY (id) NOT ENFORCED
) COMMENT 'what was ordered' PARTITIONED BY (price)
WITH ('connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 's', 'format' = 'json',
      'properties.group.id' = 'g')
"""


def rows(env: TableEnvironment, statement: str) -> list[tuple[Any, ...]]:
    with env.execute_sql(statement).collect() as found:
        return [tuple(row) for row in found]


def names(env: TableEnvironment, statement: str) -> list[Any]:
    return [row[0] for row in rows(env, statement)]


def test_a_table_is_described_as_it_was_created(env: TableEnvironment) -> None:
    assert env.execute_sql(ORDERS).get_result_kind() is ResultKind.SUCCESS
    found = {row[0]: row[1:] for row in rows(env, "DESCRIBE orders")}
    assert found["id"] == ("BIGINT", False, "PRI(id)", None, None, None)
    assert found["price"] == ("DOUBLE", True, None, None, None, "in euros")
    assert found["twice"][3] == "AS `price` * 2"
    assert found["moved"][3] == "METADATA FROM 'timestamp' VIRTUAL"
    assert found["ts"][4] == "`ts` - INTERVAL '5' SECOND"
    assert found["ts"][0] == "TIMESTAMP(3) *ROWTIME*"
    assert names(env, "SHOW COLUMNS FROM orders LIKE 't%'") == ["twice", "ts"]
    (text,) = names(env, "SHOW CREATE TABLE orders")
    other = text.replace("`orders`", "`copy`")
    env.execute_sql(other)
    assert names(env, "SHOW CREATE TABLE copy") == [other]
    assert names(env, "SHOW TABLES") == ["copy", "orders"]


@pytest.mark.parametrize(
    ("columns", "complaint"),
    [
        ("a INT, a STRING", "'a' is declared twice"),
        ("a INT, b AS c + 1", "There is no column c"),
        ("a INT, WATERMARK FOR b AS b", "a column 'b', which there is not"),
        ("a INT, PRIMARY KEY (b) NOT ENFORCED", "a column 'b', which there is not"),
        ("a INT, PRIMARY KEY (a)", "NOT ENFORCED"),
        ("a INT, b AS a, PRIMARY KEY (b) NOT ENFORCED", "physical"),
        ("a INTEGR", "there is no type"),
    ],
)
def test_a_table_that_means_nothing_is_not_created(
    env: TableEnvironment, columns: str, complaint: str
) -> None:
    with pytest.raises((ProgramError, TypeError), match=complaint):
        env.execute_sql(f"CREATE TABLE t ({columns}) WITH ('connector' = 'print')")
    assert env.list_tables() == []


def test_tables_like_others(env: TableEnvironment) -> None:
    env.execute_sql(ORDERS)
    env.execute_sql("CREATE TABLE a WITH ('topic' = 'u') LIKE orders (EXCLUDING WATERMARKS)")
    found = env.get_catalog("default_catalog")
    assert found is not None
    table = found.get_table(ObjectPath("default_database", "a"))
    assert table.options["topic"] == "u"
    assert table.options["format"] == "json"
    assert table.schema.watermarks == ()
    assert table.schema.primary_key is not None
    env.execute_sql(
        "CREATE TABLE b (x INT) WITH ('connector' = 'print') LIKE orders (EXCLUDING ALL)"
    )
    assert names(env, "DESCRIBE b") == ["id", "price", "ts", "x"]
    with pytest.raises(ProgramError, match="There is a column 'id' in orders already"):
        env.execute_sql("CREATE TABLE c (id INT) LIKE orders")
    with pytest.raises(ProgramError, match=r"(?s)has a primary key already.*EXCLUDING CONSTRAINTS"):
        env.execute_sql("CREATE TABLE c (PRIMARY KEY (price) NOT ENFORCED) LIKE orders")
    with pytest.raises(ProgramError, match=r"(?s)has partitions already.*EXCLUDING PARTITIONS"):
        env.execute_sql("CREATE TABLE c (x INT) PARTITIONED BY (x) LIKE orders")


def test_views_keep_their_meaning_elsewhere(env: TableEnvironment) -> None:
    env.execute_sql(ORDERS)
    env.execute_sql("CREATE VIEW v (k, n) AS SELECT id, COUNT(*) FROM orders GROUP BY id")
    env.execute_sql("CREATE DATABASE other")
    env.execute_sql("USE other")
    assert names(env, "DESCRIBE default_database.v") == ["k", "n"]
    assert names(env, "SHOW VIEWS FROM default_database") == ["v"]
    (text,) = names(env, "SHOW CREATE VIEW default_database.v")
    assert "`k`" in text
    assert "`default_catalog`.`default_database`.`orders`" in text
    env.execute_sql("ALTER VIEW default_database.v AS SELECT 1 AS uno")
    assert names(env, "DESCRIBE default_database.v") == ["uno"]
    with pytest.raises(ProgramError, match="2 columns"):
        env.execute_sql("CREATE VIEW w (k) AS SELECT 1, 2")
    env.execute_sql("DROP VIEW default_database.v")
    with pytest.raises(TableNotExistException):
        env.execute_sql("DESCRIBE default_database.v")


def test_tables_are_altered(env: TableEnvironment) -> None:
    env.execute_sql("CREATE TABLE t (a INT, b INT) WITH ('connector' = 'print')")
    env.execute_sql("ALTER TABLE t ADD (c AS a + b FIRST, d STRING AFTER a)")
    assert names(env, "DESCRIBE t") == ["c", "a", "d", "b"]
    env.execute_sql("ALTER TABLE t MODIFY (d INT COMMENT 'x')")
    env.execute_sql("ALTER TABLE t RENAME d TO e")
    assert names(env, "DESCRIBE t") == ["c", "a", "e", "b"]
    with pytest.raises(ProgramError, match="There is no column a"):
        env.execute_sql("ALTER TABLE t DROP a")
    assert names(env, "DESCRIBE t") == ["c", "a", "e", "b"]
    env.execute_sql("ALTER TABLE t DROP (c, e)")
    env.execute_sql("ALTER TABLE t ADD PRIMARY KEY (a) NOT ENFORCED")
    with pytest.raises(ProgramError, match="Write MODIFY"):
        env.execute_sql("ALTER TABLE t ADD PRIMARY KEY (b) NOT ENFORCED")
    env.execute_sql("ALTER TABLE t DROP PRIMARY KEY")
    env.execute_sql("ALTER TABLE t SET ('print-identifier' = 'x')")
    env.execute_sql("ALTER TABLE t RESET ('print-identifier')")
    with pytest.raises(ProgramError, match="'connector' cannot be reset"):
        env.execute_sql("ALTER TABLE t RESET ('connector')")
    with pytest.raises(ProgramError, match="RESET names no option"):
        env.execute_sql("ALTER TABLE t RESET ()")
    env.execute_sql("ALTER TABLE t RENAME TO u")
    assert env.list_tables() == ["u"]
    env.execute_sql("ALTER TABLE IF EXISTS t RENAME TO x")
    with pytest.raises(ProgramError, match="is a table"):
        env.execute_sql("ALTER VIEW u RENAME TO v")


def test_partitions(env: TableEnvironment) -> None:
    env.execute_sql(
        "CREATE TABLE t (a INT, d STRING) PARTITIONED BY (d) WITH ('connector' = 'filesystem')"
    )
    env.execute_sql("ALTER TABLE t ADD PARTITION (d = '2024-01-31')")
    assert names(env, "SHOW PARTITIONS t") == ["d=2024-01-31"]
    env.execute_sql("ALTER TABLE t DROP PARTITION (d = '2024-01-31')")
    assert names(env, "SHOW PARTITIONS t") == []


def test_databases_and_catalogs(env: TableEnvironment, tmp_path: Path) -> None:
    env.execute_sql("CREATE DATABASE d COMMENT 'c' WITH ('k' = 'v')")
    env.execute_sql("ALTER DATABASE d SET ('k' = 'w')")
    assert names(env, "SHOW DATABASES") == ["d", "default_database"]
    env.execute_sql("USE d")
    assert names(env, "SHOW CURRENT DATABASE") == ["d"]
    with pytest.raises(ProgramError, match="is the current one"):
        env.execute_sql("DROP DATABASE d")
    path = tmp_path / "c.db"
    make = f"CREATE CATALOG c WITH ('type' = 'database-file', 'path' = '{path}')"
    env.execute_sql(make)
    env.execute_sql("USE CATALOG c")
    env.execute_sql("CREATE TABLE t (a INT, b AS a + 1) WITH ('connector' = 'print')")
    env.execute_sql("USE CATALOG default_catalog")
    env.execute_sql("DROP CATALOG c")
    with pytest.raises(CatalogException, match="There is no catalog 'c'"):
        env.execute_sql("USE CATALOG c")
    env.execute_sql(make)
    assert names(env, "DESCRIBE c.`default`.t") == ["a", "b"]
    assert "database-file" in names(env, "SHOW CREATE CATALOG c")[0]
    env.register_catalog("m", GenericInMemoryCatalog("m"))
    assert env.list_catalogs() == ["c", "default_catalog", "m"]


def test_settings(env: TableEnvironment) -> None:
    env.execute_sql("SET 'table.exec.state.ttl' = '1 h'")
    assert ("table.exec.state.ttl", "1 h") in rows(env, "SET")
    env.execute_sql("RESET 'table.exec.state.ttl'")
    assert "table.exec.state.ttl" not in dict(rows(env, "SET"))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="length of time"):
        env.execute_sql("SET 'table.exec.state.ttl' = 'long'")
    env.execute_sql("SET 'my.key' = 'x'")
    env.execute_sql("RESET")
    assert "my.key" not in dict(rows(env, "SET"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("clauses", "complaint"),
    [
        ("(a TIMESTAMP(3), WATERMARK FOR a AS 1)", "The watermark of a is INT and no time"),
        ("(a TIMESTAMP(3), WATERMARK FOR a AS CAST(a AS TIMESTAMP(6)))", "no time"),
        ("(a INT) PARTITIONED BY (b)", "partitioned by 'b', which is no physical column"),
        ("(a INT, b AS a + 1) PARTITIONED BY (b)", "partitioned by 'b', which is no physical"),
    ],
)
def test_a_table_that_means_nothing_is_not_made(
    env: TableEnvironment, clauses: str, complaint: str
) -> None:
    with pytest.raises(ProgramError, match=complaint):
        env.execute_sql(f"CREATE TABLE wrong {clauses} WITH ('connector' = 'print')")
    assert names(env, "SHOW TABLES") == []


def test_the_current_catalog_keeps_its_current_database(env: TableEnvironment) -> None:
    env.execute_sql("CREATE DATABASE elsewhere")
    env.execute_sql("USE elsewhere")
    env.execute_sql("USE CATALOG default_catalog")
    assert names(env, "SHOW CURRENT DATABASE") == ["elsewhere"]


def test_functions_and_modules(env: TableEnvironment) -> None:
    name = "tests.unit.table.udfs.double"
    env.execute_sql(f"CREATE TEMPORARY SYSTEM FUNCTION twice AS '{name}' LANGUAGE PYTHON")
    assert names(env, "SHOW USER FUNCTIONS") == ["twice"]
    assert env.sql_query("SELECT twice(2) AS x").get_schema().get_field_names() == ["x"]
    env.execute_sql(f"CREATE FUNCTION doubled AS '{name}' LANGUAGE PYTHON")
    env.execute_sql("CREATE DATABASE elsewhere")
    assert names(env, "SHOW USER FUNCTIONS") == ["doubled", "twice"]
    assert names(env, "SHOW USER FUNCTIONS FROM elsewhere") == ["twice"]
    assert names(env, "SHOW FUNCTIONS IN elsewhere LIKE 'dou%'") == []
    env.execute_sql("DROP FUNCTION doubled")
    env.execute_sql("DROP TEMPORARY SYSTEM FUNCTION twice")
    with pytest.raises(ProgramError, match="There is no temporary function"):
        env.execute_sql("DROP TEMPORARY FUNCTION twice")
    with pytest.raises(NotSupportedError, match="LANGUAGE PYTHON"):
        env.execute_sql("CREATE FUNCTION f AS 'com.acme.F'")
    assert names(env, "SHOW MODULES") == ["core"]
    env.execute_sql("UNLOAD MODULE core")
    env.execute_sql("LOAD MODULE core")
    env.execute_sql("USE MODULES core")
    with pytest.raises(ProgramError, match=r"env\.load_module"):
        env.execute_sql("LOAD MODULE hive")
    assert ("name", "upper") in rows(env, "DESCRIBE FUNCTION `upper`")


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("INSERT INTO t (x) SELECT 1", r"There is no column x(.|\n)*There is a and b"),
        ("INSERT INTO t (a) SELECT 1, 2", "2 columns, but 1 are written"),
        ("INSERT INTO tt SELECT 1", r"There is no table tt(.|\n)*Did you mean 't'"),
        ("INSERT INTO v SELECT 1", "is a view"),
        ("EXECUTE STATEMENT SET BEGIN END", "."),
        ("SELECT * FROM tt", r"There is no table tt(.|\n)*\^\^"),
        ("DROP TABLE tt", "There is no table 'tt'"),
        ("DROP VIEW t", "It is a TABLE"),
        ("SHOW CREATE VIEW t", "Write SHOW CREATE TABLE"),
        ("EXPLAIN CREATE TABLE x (a INT)", "."),
        ("STOP JOB 'x'", "There is no job 'x'"),
        ("END", "no statement set"),
    ],
)
def test_statements_that_cannot_be_executed(
    env: TableEnvironment, statement: str, complaint: str
) -> None:
    env.execute_sql("CREATE TABLE t (a INT NOT NULL, b STRING) WITH ('connector' = 'print')")
    env.execute_sql("CREATE VIEW v AS SELECT 1 AS uno")
    with pytest.raises(ProgramError, match=complaint):
        env.execute_sql(statement)


def test_between_begin_and_end_there_are_only_inserts(env: TableEnvironment) -> None:
    env.execute_sql("BEGIN STATEMENT SET")
    with pytest.raises(ProgramError, match="Only INSERTs can stand"):
        env.execute_sql("SHOW TABLES")


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("DELETE FROM t", "DELETE"),
        ("UPDATE t SET a = 1", "UPDATE"),
        ("TRUNCATE TABLE t", "TRUNCATE"),
        ("ADD JAR '/x.jar'", "JAR"),
        ("CALL p()", "CALL"),
    ],
)
def test_statements_of_flinks_that_are_refused(
    env: TableEnvironment, statement: str, word: str
) -> None:
    with pytest.raises(NotSupportedError, match=rf"{word}(.|\n)*\^"):
        env.execute_sql(statement)


def test_every_statement_is_executed_or_refused_with_advice() -> None:
    known = {*EXECUTORS, *GAPS}
    assert {kind for kind in Statement.__subclasses__() if kind not in known} == set()
