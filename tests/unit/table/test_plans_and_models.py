"""Compiled plans, models in catalogs, and what is refused with what to do instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from scurry.common.errors import NotSupportedError, ProgramError
from scurry.table import DataTypes, EnvironmentSettings, PlanReference, Schema, TableEnvironment
from scurry.table.catalog import DatabaseFileCatalog, HiveCatalog, JdbcCatalog, ObjectPath
from scurry.table.expressions import col
from scurry.table.model_descriptor import ModelDescriptor
from scurry.table.module import HiveModule
from scurry.util.exceptions import ModelAlreadyExistException, TableException


@pytest.fixture
def tables(env: TableEnvironment) -> TableEnvironment:
    env.execute_sql("CREATE TABLE src (id INT) WITH ('connector' = 'datagen')")
    env.execute_sql("CREATE TABLE snk (id INT) WITH ('connector' = 'blackhole')")
    return env


def test_a_plan_brings_the_tables_that_are_missing(tables: TableEnvironment) -> None:
    plan = tables.sql_query("SELECT id + 1 FROM src").insert_into("snk").compile_plan()
    other = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    loaded = other.load_plan(PlanReference.from_json_string(plan.as_json_string()))
    assert loaded.explain() == plan.explain()
    assert {"snk", "src"} <= set(other.list_temporary_tables())


def test_a_plan_of_a_set_has_all_its_statements(tables: TableEnvironment) -> None:
    statements = tables.create_statement_set()
    statements.add_insert_sql("INSERT INTO snk SELECT id FROM src")
    statements.add_insert_sql("INSERT INTO snk SELECT id + 1 FROM src")
    plan = tables.load_plan(
        PlanReference.from_smile_bytes(statements.compile_plan().as_smile_bytes())
    )
    assert plan.explain().count("Sink: ") == 2


def test_what_is_no_plan_is_refused(tables: TableEnvironment, tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="compile the statement again"):
        tables.load_plan(PlanReference.from_json_string("{}"))
    with pytest.raises(ProgramError, match="cannot be read"):
        tables.load_plan(PlanReference.from_file(tmp_path / "nothing.json"))
    with pytest.raises(ProgramError, match="takes an INSERT"):
        tables.compile_plan_sql("SELECT 1")
    built = tables.from_path("src").select(col("id")).insert_into("snk")
    with pytest.raises(NotSupportedError, match="write it in SQL"):
        built.compile_plan()


def test_models_are_kept_in_a_file(env: TableEnvironment, tmp_path: Path) -> None:
    schema = Schema.new_builder().column("text", DataTypes.STRING()).build()
    model = ModelDescriptor.for_provider("openai").input_schema(schema).output_schema(schema)
    env.register_catalog("kept", DatabaseFileCatalog("kept", str(tmp_path / "kept.db")))
    env.use_catalog("kept")
    env.create_model("m", model.option("task", "embed").build())
    with pytest.raises(ModelAlreadyExistException, match="already"):
        env.create_model("m", model.build())
    again = DatabaseFileCatalog("again", str(tmp_path / "kept.db"))
    path = ObjectPath(again.get_default_database(), "m")
    assert again.get_model(path).get_options() == {"provider": "openai", "task": "embed"}
    assert str(again.get_model(path).input_schema) == str(schema)
    again.rename_model(path, "n", False)
    assert again.list_models(path.database_name) == ["n"]


def test_java_classes_are_refused_with_what_to_do(env: TableEnvironment) -> None:
    with pytest.raises(TableException, match=r"write it in Python.*udf"):
        env.create_java_temporary_function("f", "com.example.F")
    with pytest.raises(NotSupportedError, match="GenericInMemoryCatalog"):
        HiveCatalog("hive")
    with pytest.raises(NotSupportedError, match="DatabaseFileCatalog"):
        JdbcCatalog("jdbc", "db", "user", "secret", "jdbc:postgresql://localhost")
    with pytest.raises(NotSupportedError, match="with udf"):
        HiveModule()


def test_references_to_plans_and_paths_are_compared_by_what_they_say() -> None:
    assert PlanReference.from_json_string("{}") == PlanReference.from_json_string("{}")
    assert PlanReference.from_json_string("{}") != PlanReference.from_file("{}")
    assert len({PlanReference.from_file("a"), PlanReference.from_file("a")}) == 1
    assert repr(PlanReference.from_json_string("{}")) == "JsonContentPlanReference('{}')"
    assert sorted([ObjectPath("b", "a"), ObjectPath("a", "b")])[0] == ObjectPath("a", "b")


def texts(env: TableEnvironment, statement: str) -> list[list[object]]:
    with env.execute_sql(statement).collect() as found:
        return [list(row) for row in found]


def test_models_are_declared_in_sql(env: TableEnvironment) -> None:
    env.execute_sql("""
        CREATE MODEL m INPUT (a INT, b STRING COMMENT 'said') OUTPUT (c DOUBLE NOT NULL)
        COMMENT 'what it does' WITH ('provider' = 'openai', 'task' = 'x')""")
    env.execute_sql("CREATE TEMPORARY MODEL n WITH ('provider' = 'x')")
    assert texts(env, "SHOW MODELS") == [["m"]]
    assert "TEMPORARY MODEL" in str(texts(env, "SHOW CREATE MODEL n"))
    assert texts(env, "SHOW MODELS LIKE 'm%'") == [["m"]]
    assert texts(env, "DESCRIBE MODEL m") == [
        ["a", "INT", True, True, None],
        ["b", "STRING", True, True, "said"],
        ["c", "DOUBLE", False, False, None],
    ]
    ((text,),) = texts(env, "SHOW CREATE MODEL m")
    env.execute_sql("ALTER MODEL m RENAME TO o")
    env.execute_sql(str(text))
    assert texts(env, "SHOW CREATE MODEL m") == [[text]]
    env.execute_sql("ALTER MODEL m SET ('task' = 'y', 'more' = 'z')")
    env.execute_sql("ALTER MODEL m RESET ('more')")
    assert "'task' = 'y'\n" in str(texts(env, "SHOW CREATE MODEL m"))[2:].replace("\\n", "\n")
    env.execute_sql("DROP MODEL m")
    env.execute_sql("DROP TEMPORARY MODEL n")
    assert env.list_models() == ["o"]
    env.execute_sql("DROP MODEL IF EXISTS m")
    env.execute_sql("ALTER MODEL IF EXISTS m SET ('task' = 'y')")


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("DROP MODEL modell", "Did you mean 'model1'"),
        ("DROP TEMPORARY MODEL model1", "There is no temporary model"),
        ("DESCRIBE MODEL modell", "Did you mean 'model1'"),
        ("CREATE MODEL model1 WITH ('provider' = 'x')", "There is a model"),
        ("CREATE MODEL m INPUT (a AS 1) OUTPUT (b INT) WITH ('p' = 'x')", "have types only"),
    ],
)
def test_statements_about_models_that_fail(
    env: TableEnvironment, statement: str, complaint: str
) -> None:
    env.execute_sql("CREATE MODEL model1 WITH ('provider' = 'x')")
    with pytest.raises(ProgramError, match=complaint):
        env.execute_sql(statement)
