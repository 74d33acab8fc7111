from __future__ import annotations

import datetime
import decimal

from pyflink.common import Row
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import udf

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
inner = DataTypes.ROW(
    [DataTypes.FIELD("x", DataTypes.STRING()), DataTypes.FIELD("y", DataTypes.INT())]
)
table = t_env.from_elements(
    [
        (
            True,
            1.5,
            "text",
            bytearray(b"\x01\x02"),
            datetime.date(2024, 2, 29),
            datetime.time(12, 30, 15),
            datetime.datetime(2024, 2, 29, 12, 30, 15, 123000),
            decimal.Decimal("12.50"),
            [1, 2, 3],
            {"k": 1},
            Row("n", 7),
        ),
        (None, None, None, None, None, None, None, None, None, None, None),
    ],
    DataTypes.ROW(
        [
            DataTypes.FIELD("b", DataTypes.BOOLEAN()),
            DataTypes.FIELD("f", DataTypes.DOUBLE()),
            DataTypes.FIELD("s", DataTypes.STRING()),
            DataTypes.FIELD("y", DataTypes.BYTES()),
            DataTypes.FIELD("d", DataTypes.DATE()),
            DataTypes.FIELD("t", DataTypes.TIME()),
            DataTypes.FIELD("ts", DataTypes.TIMESTAMP(3)),
            DataTypes.FIELD("n", DataTypes.DECIMAL(10, 2)),
            DataTypes.FIELD("l", DataTypes.ARRAY(DataTypes.BIGINT())),
            DataTypes.FIELD("m", DataTypes.MAP(DataTypes.STRING(), DataTypes.BIGINT())),
            DataTypes.FIELD("r", inner),
        ]
    ),
)


@udf(result_type=DataTypes.STRING())
def shown(*args):
    return "; ".join(f"{type(value).__name__} {value!r}" for value in args)


@udf(result_type=DataTypes.ARRAY(DataTypes.STRING()))
def listed(value):
    return None if value is None else [str(one) for one in value]


@udf(result_type=DataTypes.MAP(DataTypes.STRING(), DataTypes.BIGINT()))
def doubled(value):
    return None if value is None else {k * 2: v * 2 for k, v in value.items()}


@udf(result_type=inner)
def swapped(value):
    return None if value is None else Row(value.x + "!", value[1] + 1)


@udf(result_type=DataTypes.TIMESTAMP(3))
def later(value):
    return None if value is None else value + datetime.timedelta(days=1)


@udf(result_type=DataTypes.DECIMAL(10, 2))
def more(value):
    return None if value is None else value + 1


with (
    table.select(
        shown(
            col("b"),
            col("f"),
            col("s"),
            col("d"),
            col("t"),
            col("ts"),
            col("n"),
            col("l"),
            col("m"),
        ).alias("shown"),
        shown(col("r")).alias("row"),
        shown(col("y")).alias("bytes"),
    )
    .execute()
    .collect() as rows
):
    for row in rows:
        print(row[0])
        print(row[1])
        print(row[2])
table.select(
    listed(col("l")).alias("l"),
    doubled(col("m")).alias("m"),
    swapped(col("r")).alias("r"),
    later(col("ts")).alias("ts"),
    more(col("n")).alias("n"),
).execute().print()
