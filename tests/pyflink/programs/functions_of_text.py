from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import call, col, concat, concat_ws, lit

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.get_config().set("parallelism.default", "1")
t = t_env.from_elements([(" Hello, World ", "a-b-c"), ("flink", "")], ["s", "p"])
t.select(
    col("s").trim().alias("both"),
    col("s").trim_leading().alias("left"),
    col("s").trim_trailing().alias("right"),
    col("s").ltrim().alias("ltrim"),
    col("s").rtrim().alias("rtrim"),
    col("s").upper_case.alias("up"),
    col("s").init_cap.alias("cap"),
).execute().print()
t.select(
    col("s").substring(2, 4).alias("part"),
    col("s").left(3).alias("l"),
    col("s").right(3).alias("r"),
    col("s").position("l").alias("at"),
    col("s").overlay("XX", 3).alias("over"),
    col("s").rpad(16, ".").alias("pad"),
    col("s").repeat(2).alias("twice"),
    col("s").reverse.alias("back"),
).execute().print()
t.select(
    col("p").split_index("-", 1).alias("second"),
    col("p").split("-").alias("parts"),
    col("p").like("a%").alias("is_like"),
    col("s").similar("f[a-z]+").alias("is_similar"),
    col("s").regexp("W.r").alias("found"),
    col("s").regexp_extract("([a-z]+)", 1).alias("word"),
    col("s").regexp_replace("[aeiou]", "_").alias("gone"),
    col("s").starts_with("fl").alias("starts"),
).execute().print()
t.select(
    col("s").to_base64.alias("b64"),
    col("s").to_base64.from_base64.alias("again"),
    col("s").hex.alias("h"),
    col("s").md5.alias("m"),
    col("p").sha1.alias("sha"),
    col("p").instr("b").alias("place"),
).execute().print()
t.select(
    concat(col("s"), "/", col("p")).alias("joined"),
    concat_ws("+", col("p"), None, "z").alias("with_plus"),
    call("LOWER", col("s")).alias("low"),
    col("p").url_encode().alias("url"),
    lit("a%20b").url_decode().alias("plain"),
    col("s").char_length.alias("n"),
    lit("k1=v1,k2=v2").str_to_map().alias("pairs"),
).execute().print()
