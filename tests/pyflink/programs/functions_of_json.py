from __future__ import annotations

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expression import (
    JsonExistsOnError,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
)
from pyflink.table.expressions import col, json, json_array, json_object, json_string, lit

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.get_config().set("parallelism.default", "1")
t = t_env.from_elements([('{"a": {"b": [1, 2]}, "c": "x", "n": 5}',), ("[3]",), ("no json",)], ["j"])
t.select(
    col("j").is_json().alias("any"),
    col("j").is_json(JsonType.OBJECT).alias("object"),
    col("j").is_json(JsonType.ARRAY).alias("array"),
    col("j").json_exists("$.a.b[1]").alias("found"),
    col("j").json_exists("strict $.z", JsonExistsOnError.TRUE).alias("error"),
).execute().print()
t.select(
    col("j").json_value("$.c").alias("c"),
    col("j").json_value("$.n", DataTypes.INT()).alias("n"),
    col("j")
    .json_value(
        "$.z",
        DataTypes.STRING(),
        JsonValueOnEmptyOrError.DEFAULT,
        "none",
        JsonValueOnEmptyOrError.NULL,
        None,
    )
    .alias("z"),
    col("j").json_query("$.a.b").alias("list"),
    col("j").json_query("$.n", JsonQueryWrapper.CONDITIONAL_ARRAY).alias("wrapped"),
    col("j")
    .json_query(
        "$.z",
        on_empty=JsonQueryOnEmptyOrError.EMPTY_OBJECT,
        on_error=JsonQueryOnEmptyOrError.EMPTY_ARRAY,
    )
    .alias("empty"),
).execute().print()
t.select(
    json_object(JsonOnNull.NULL, "k", 1, "n", "x").alias("o"),
    json_object(JsonOnNull.ABSENT, "k", json_array(JsonOnNull.NULL, 1, "two")).alias("a"),
    json_string(lit("it's")).alias("s"),
    json_object(JsonOnNull.NULL, "inner", json('{"x": 1}')).alias("raw"),
).fetch(1).execute().print()
