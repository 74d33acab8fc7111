"""Errors of statements point at the words that they are about."""

from __future__ import annotations

import pytest

from scurry.common.errors import ProgramError, ScurryError
from scurry.table import TableEnvironment
from scurry.table.catalog import TableNotExistException


@pytest.fixture
def filled(env: TableEnvironment) -> TableEnvironment:
    env.execute_sql("CREATE TABLE o (id INT, usr STRING) WITH ('connector' = 'datagen')")
    return env


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("DROP TABLE x", "x"),
        ("DESCRIBE x", "x"),
        ("SHOW COLUMNS FROM x", "x"),
        ("SHOW PARTITIONS o", "o"),
        ("ALTER TABLE o RENAME TO o", "o"),
        ("ALTER TABLE a.b.x RENAME TO y", "a.b.x"),
        ("CREATE TABLE o (id INT) WITH ('connector' = 'datagen')", "o"),
        ("CREATE TABLE t (id INT, k INT, k INT) WITH ('connector' = 'datagen')", "k"),
        ("CREATE TABLE t (id INT, PRIMARY KEY (kk) NOT ENFORCED)", "kk"),
        ("CREATE TABLE t (id INT, WATERMARK FOR ts AS id)", "ts"),
        ("CREATE TABLE d.t (id INT)", "d"),
        ("CREATE DATABASE default_database", "default_database"),
        ("CREATE CATALOG c WITH ('type' = 'hive')", "c"),
        ("USE x", "x"),
        ("USE CATALOG x", "x"),
        ("UNLOAD MODULE x", "x"),
        ("SET 'execution.runtime-mode' = 'x'", "SET 'execution.runtime-mode' = 'x'"),
    ],
)
def test_the_word_is_marked(filled: TableEnvironment, statement: str, words: str) -> None:
    with pytest.raises(ScurryError) as refusal:
        filled.execute_sql(statement)
    shown, marks = str(refusal.value).splitlines()[-2:]
    begin = marks.index("^")
    assert set(marks[begin:]) == {"^"}
    assert shown[begin : begin + len(marks[begin:])] == words


def test_the_error_stays_what_it_is(filled: TableEnvironment) -> None:
    with pytest.raises(TableNotExistException, match=r"There is: o \(line 1, column 12\)"):
        filled.execute_sql("DROP TABLE x")
    with pytest.raises(ProgramError) as refusal:
        filled.execute_sql("EXPLAIN SELECT x FROM o")
    assert str(refusal.value).count("^") == 1
