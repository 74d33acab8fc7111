from __future__ import annotations

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import array, call, col, lit, map_, map_from_arrays, row

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.get_config().set("parallelism.default", "1")
t = t_env.from_elements(
    [(1, [3, 1, 3, None], {"a": 1}), (2, [], {}), (3, None, None)],
    DataTypes.ROW(
        [
            DataTypes.FIELD("id", DataTypes.INT()),
            DataTypes.FIELD("l", DataTypes.ARRAY(DataTypes.INT())),
            DataTypes.FIELD("m", DataTypes.MAP(DataTypes.STRING(), DataTypes.INT())),
        ]
    ),
)
t.select(
    col("id"),
    col("l").cardinality.alias("n"),
    col("l").at(1).alias("first"),
    col("l").array_contains(3).alias("has"),
    call("ARRAY_DISTINCT", col("l")).alias("once"),
    call("ARRAY_POSITION", col("l"), 1).alias("place"),
    call("ARRAY_REVERSE", col("l")).alias("back"),
).execute().print()
t.select(
    call("ARRAY_MAX", col("l")).alias("most"),
    call("ARRAY_MIN", col("l")).alias("least"),
    call("ARRAY_APPEND", col("l"), 9).alias("more"),
    call("ARRAY_PREPEND", col("l"), 0).alias("before"),
    call("ARRAY_REMOVE", col("l"), 3).alias("fewer"),
    call("ARRAY_SLICE", col("l"), 1, 2).alias("part"),
    call("ARRAY_CONCAT", col("l"), array(7, 8)).alias("both"),
).execute().print()
t.select(
    call("ARRAY_UNION", col("l"), array(1, 5)).alias("u"),
    call("ARRAY_EXCEPT", col("l"), array(3)).alias("e"),
    call("ARRAY_INTERSECT", col("l"), array(1, 5)).alias("i"),
    call("ARRAY_SORT", col("l")).alias("sorted"),
    call("ARRAY_JOIN", array("a", "b", None), "-").alias("joined"),
    call("ARRAY_JOIN", array("a", None), "-", "?").alias("filled"),
).execute().print()
t.select(
    col("m").cardinality.alias("n"),
    col("m").at("a").alias("a"),
    col("m").map_keys.alias("k"),
    col("m").map_values.alias("v"),
    col("m").map_entries.alias("e"),
    map_("x", 1, "y", 2).alias("made"),
    map_from_arrays(array("p", "q"), array(1, 2)).alias("zipped"),
).execute().print()
t.select(
    row(col("id"), lit("x")).alias("r"),
    array(col("id"), lit(5)).alias("a"),
    array(lit(1)).element.alias("only"),
).execute().print()
