from __future__ import annotations

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expression import TimeIntervalUnit, TimePointUnit
from pyflink.table.expressions import (
    col,
    convert_tz,
    date_format,
    from_unixtime,
    lit,
    temporal_overlaps,
    timestamp_diff,
    to_date,
    to_timestamp,
    to_timestamp_ltz,
    unix_timestamp,
)

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.get_config().set_local_timezone("Europe/Berlin")
t_env.execute_sql(
    "CREATE TEMPORARY VIEW t AS SELECT DATE '2024-02-29' AS d, TIME '23:59:58' AS h, "
    "TIMESTAMP '2024-02-29 23:59:58.125' AS ts"
)
t = t_env.from_path("t")
t.select(
    col("d") + lit(1).day,
    col("ts") - lit(2).hours,
    col("ts") + lit(1).month,
    col("d") + lit(1).year,
    col("h") + lit(3).minutes,
    col("ts") + lit(1500).millis,
).execute().print()
t.select(
    col("d").extract(TimeIntervalUnit.YEAR).alias("y"),
    col("d").extract(TimeIntervalUnit.QUARTER).alias("q"),
    col("ts").extract(TimeIntervalUnit.MINUTE).alias("mi"),
    col("ts").floor(TimeIntervalUnit.HOUR).alias("hour"),
    col("ts").ceil(TimeIntervalUnit.DAY).alias("day"),
    col("d").floor(TimeIntervalUnit.MONTH).alias("month"),
    timestamp_diff(TimePointUnit.DAY, col("ts"), col("ts") + lit(30).hours).alias("days"),
).execute().print()
t.select(
    date_format(col("ts"), "yyyy/MM/dd HH.mm").alias("f"),
    to_date("2024-01-31").alias("td"),
    to_date("31.01.2024", "dd.MM.yyyy").alias("tdf"),
    to_timestamp("2024-01-31 10:20:30").alias("tt"),
    to_timestamp_ltz(1706695230123, 3).alias("ltz"),
    convert_tz("2024-01-31 10:00:00", "UTC", "America/New_York").alias("ny"),
).execute().print()
t.select(
    from_unixtime(0).alias("zero"),
    from_unixtime(86400, "yyyy-MM-dd").alias("next"),
    unix_timestamp("1970-01-02 01:00:00").alias("seconds"),
    temporal_overlaps(lit("2:55:00").to_time, lit(1).hour, lit("3:30:00").to_time, lit(2).hours)
    .alias("overlap"),
    lit("2024-05-06").to_date.alias("day"),
    lit("2024-05-06 07:08:09").to_timestamp.alias("moment"),
    col("ts").cast(DataTypes.DATE()).alias("only_day"),
    col("ts").cast(DataTypes.STRING()).alias("text"),
).execute().print()
t.select(
    col("d").extract(TimeIntervalUnit.WEEK).alias("week"),
    (col("ts") > lit("2024-01-01 00:00:00").to_timestamp).alias("later"),
    col("ts").between(
        lit("2024-01-01 00:00:00").to_timestamp, lit("2025-01-01 00:00:00").to_timestamp
    ).alias("within"),
).execute().print()
