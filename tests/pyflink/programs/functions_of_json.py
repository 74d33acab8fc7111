from __future__ import annotations

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expression import (
    JsonExistsOnError,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
)
from pyflink.table.expressions import col

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
