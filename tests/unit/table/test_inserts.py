"""INSERT INTO: where rows go, in which columns, and which changes a table takes."""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import Any

import pytest

from scurry.common.changelog import ChangelogMode
from scurry.common.errors import FunctionError, ProgramError, TypeMismatchError
from scurry.plan.nodes import Sink
from scurry.plan.relational import DropUpdateBefore, SinkMaterialize
from scurry.planner.errors import SqlValidationError
from scurry.planner.plan_inserts import plan_inserts
from scurry.table import ExplainDetail, TableEnvironment
from scurry.testing.tables import changes_of_table, run_inserts

UPSERT = (
    "WITH ('connector' = 'upsert-kafka', 'topic' = 't', 'properties.bootstrap.servers' = 's:1', "
    "'key.format' = 'json', 'value.format' = 'json')"
)


@pytest.fixture(autouse=True)
def words(env: TableEnvironment) -> None:
    """A view of words."""
    rows = [("a", 1), ("b", 2), ("a", 3)]
    env.create_temporary_view("words", env.from_elements(rows, ["word", "n"]))


def files(env: TableEnvironment, name: str, columns: str, path: Path) -> None:
    env.execute_sql(
        f"CREATE TABLE {name} ({columns}) "
        f"WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{path}')"
    )


def written(path: Path) -> list[Any]:
    lines = [line for file in path.glob("part*") for line in file.read_text().splitlines()]
    return sorted(map(json.loads, lines), key=repr)


@pytest.mark.parametrize("form", ["json", "csv"])
def test_a_byte_order_mark_is_no_part_of_the_first_row(
    env: TableEnvironment, tmp_path: Path, form: str
) -> None:
    line = b'{"n": 1}' if form == "json" else b"1"
    (tmp_path / "in").write_bytes(codecs.BOM_UTF8 + line + b"\n")
    env.execute_sql(
        f"CREATE TABLE marked (n INT) "
        f"WITH ('connector' = 'filesystem', 'format' = '{form}', 'path' = '{tmp_path}/in')"
    )
    assert changes_of_table(env.from_path("marked")) == [("+I", 1)]


def test_a_time_beyond_those_of_python_is_named(env: TableEnvironment) -> None:
    query = "SELECT TIMESTAMPADD(DAY, n, TIMESTAMP '9999-12-30 00:00:00') AS later FROM words"
    with pytest.raises(TypeMismatchError, match=r"'later' holds a time 10000-01-01.*AS STRING"):
        changes_of_table(env.sql_query(query))


def test_rows_go_to_columns_by_position(env: TableEnvironment, tmp_path: Path) -> None:
    files(env, "t", "x STRING, y DOUBLE", tmp_path / "t")
    run_inserts(env, [env.pipeline_of_sql("INSERT INTO t SELECT word, n FROM words WHERE n > 1")])
    assert written(tmp_path / "t") == [{"x": "a", "y": 3.0}, {"x": "b", "y": 2.0}]


def test_rows_go_to_named_columns(env: TableEnvironment, tmp_path: Path) -> None:
    files(env, "t", "x STRING, y BIGINT, z INT", tmp_path / "t")
    run_inserts(env, [env.pipeline_of_sql("INSERT INTO t (y, x) SELECT n, word FROM words")])
    assert written(tmp_path / "t")[0] == {"x": "a", "y": 1, "z": None}


def test_values_are_fitted_into_the_columns(env: TableEnvironment, tmp_path: Path) -> None:
    """The values are what Flink writes."""
    columns = "a VARCHAR, b VARCHAR(3), c VARCHAR(3), d DECIMAL(5, 2), e DECIMAL(5, 2)"
    files(env, "t", f"{columns}, f DECIMAL(5, 2)", tmp_path / "t")
    given = "CAST('Hello' AS STRING), CAST('Hello' AS STRING), CAST('abcdef' AS CHAR(6))"
    given += ", CAST(1234.567 AS DECIMAL(10, 3)), CAST(2.5 AS DOUBLE), CAST(1 AS BIGINT)"
    run_inserts(env, [env.pipeline_of_sql(f"INSERT INTO t SELECT {given}")])
    fitted = {"a": "Hello", "b": "Hel", "c": "abc", "d": None, "e": 2.5, "f": 1}
    assert written(tmp_path / "t") == [fitted]


@pytest.mark.parametrize(
    ("column", "value"),
    [("CHAR(3)", "CAST('Hello' AS STRING)"), ("INT", "CAST(1 AS BIGINT)"), ("STRING", "TRUE")],
)
def test_values_of_another_kind_are_refused(
    env: TableEnvironment, tmp_path: Path, column: str, value: str
) -> None:
    files(env, "t", f"a {column}", tmp_path / "t")
    with pytest.raises(SqlValidationError, match=r"The column a of .* but the query gives"):
        env.pipeline_of_sql(f"INSERT INTO t SELECT {value}")


def test_partition_values_are_fixed(env: TableEnvironment, tmp_path: Path) -> None:
    env.execute_sql(
        f"CREATE TABLE t (x STRING, d INT) PARTITIONED BY (d) "
        f"WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '{tmp_path}/t')"
    )
    run_inserts(
        env, [env.pipeline_of_sql("INSERT INTO t PARTITION (d = 7) SELECT word FROM words")]
    )
    assert len(written(tmp_path / "t" / "d=7")) == 3


def test_a_set_of_inserts_is_one_job(env: TableEnvironment, tmp_path: Path) -> None:
    files(env, "t", "x STRING", tmp_path / "t")
    files(env, "u", "n BIGINT", tmp_path / "u")
    statements = ["INSERT INTO t SELECT word FROM words", "INSERT INTO u SELECT n FROM words"]
    run_inserts(env, [env.pipeline_of_sql(one) for one in statements], cuts=1, parallelism=2)
    assert len(written(tmp_path / "t")) == len(written(tmp_path / "u")) == 3


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        (
            "SELECT word FROM words",
            "The query has 1 columns, but 2 are written",
        ),
        (
            "SELECT word, word FROM words",
            "The column y of .*t is BIGINT, but the query gives STRING",
        ),
        ("SELECT word, COUNT(*) FROM words GROUP BY word", "takes insertions only"),
    ],
)
def test_queries_that_do_not_fit(
    env: TableEnvironment, tmp_path: Path, query: str, complaint: str
) -> None:
    files(env, "t", "x STRING, y BIGINT", tmp_path / "t")
    with pytest.raises(ProgramError, match=complaint):
        env.execute_sql(f"INSERT INTO t {query}")


def test_not_null_columns_are_looked_after(env: TableEnvironment, tmp_path: Path) -> None:
    files(env, "t", "x STRING NOT NULL", tmp_path / "t")
    insert = "INSERT INTO t SELECT NULLIF(word, 'b') FROM words"
    with pytest.raises(FunctionError, match=r"'x' of .*t is NOT NULL"):
        run_inserts(env, [env.pipeline_of_sql(insert)])
    env.execute_sql("SET 'table.exec.sink.not-null-enforcer' = 'DROP'")
    env.execute_sql("ALTER TABLE t SET ('path' = '" + str(tmp_path / "u") + "')")
    run_inserts(env, [env.pipeline_of_sql(insert)])
    assert written(tmp_path / "u") == [{"x": "a"}, {"x": "a"}]


def planned(env: TableEnvironment, insert: str) -> Any:
    (node,) = plan_inserts([env.jobs._fitted(env.pipeline_of_sql(insert))])
    assert isinstance(node, Sink)
    while node.name.startswith(("Sink:", "Constraint")):
        (node,) = node.inputs
    return node


def test_old_rows_are_saved_where_the_keys_are_the_same(env: TableEnvironment) -> None:
    env.execute_sql(f"CREATE TABLE k (w STRING, c BIGINT, PRIMARY KEY (w) NOT ENFORCED) {UPSERT}")
    node = planned(env, "INSERT INTO k SELECT word, COUNT(*) FROM words GROUP BY word")
    assert not isinstance(node, SinkMaterialize | DropUpdateBefore)
    assert node.changelog is ChangelogMode.UPSERT
    by_count = "INSERT INTO k SELECT MAX(word), c FROM " + (
        "(SELECT word, COUNT(*) AS c FROM words GROUP BY word) GROUP BY c"
    )
    assert isinstance(planned(env, by_count), SinkMaterialize)


def test_explanations(env: TableEnvironment) -> None:
    query = "SELECT word, COUNT(*) AS c FROM words GROUP BY word"
    text = env.explain_sql(query, ExplainDetail.CHANGELOG_MODE)
    assert "== Optimized Physical Plan ==" in text
    assert "changelogMode=[I,UB,UA]" in text
    env.execute_sql(f"CREATE TABLE k (w STRING, c BIGINT, PRIMARY KEY (w) NOT ENFORCED) {UPSERT}")
    text = env.explain_sql(f"INSERT INTO k {query}", ExplainDetail.CHANGELOG_MODE)
    assert "Sink: default_catalog.default_database.k" in text
    assert "changelogMode=[I,UA]" in text
    lines = list(env.execute_sql(f"EXPLAIN CHANGELOG_MODE {query}").lines())
    assert "changelogMode=[I,UB,UA]" in lines[0]
    assert "Aggregate" in env.sql_query(query).explain()
    assert "no cost model" in env.explain_sql(query, ExplainDetail.ESTIMATED_COST)


@pytest.mark.parametrize(
    ("insert", "complaint"),
    [
        ("INSERT INTO t (x, x) SELECT word, word FROM words", "The column x is written twice"),
        ("INSERT INTO t PARTITION (x = 'a') SELECT n FROM words", "not partitioned by 'x'"),
    ],
)
def test_columns_that_an_insert_cannot_name(
    env: TableEnvironment, tmp_path: Path, insert: str, complaint: str
) -> None:
    files(env, "t", "x STRING, y DOUBLE", tmp_path / "t")
    with pytest.raises(ProgramError, match=complaint):
        env.explain_sql(insert)
