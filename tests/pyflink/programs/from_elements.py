from __future__ import annotations

import datetime
import decimal

from pyflink.common import Row
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.from_elements([(1, "Hi"), (2, "Hello")]).execute().print()
t_env.from_elements([(1, "Hi"), (2, "Hello")], ["a", "b"]).print_schema()
typed = t_env.from_elements(
    [(1, "Hi", None), (2, "Hello", 2.5)],
    DataTypes.ROW(
        [
            DataTypes.FIELD("a", DataTypes.TINYINT()),
            DataTypes.FIELD("b", DataTypes.STRING()),
            DataTypes.FIELD("c", DataTypes.DOUBLE()),
        ]
    ),
)
typed.print_schema()
typed.execute().print()
wide = t_env.from_elements(
    [
        (
            1,
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
            Row("nested", 7),
        )
    ],
    DataTypes.ROW(
        [
            DataTypes.FIELD("i", DataTypes.BIGINT()),
            DataTypes.FIELD("b", DataTypes.BOOLEAN()),
            DataTypes.FIELD("d", DataTypes.FLOAT()),
            DataTypes.FIELD("s", DataTypes.STRING()),
            DataTypes.FIELD("y", DataTypes.BYTES()),
            DataTypes.FIELD("dt", DataTypes.DATE()),
            DataTypes.FIELD("t", DataTypes.TIME()),
            DataTypes.FIELD("ts", DataTypes.TIMESTAMP(3)),
            DataTypes.FIELD("dec", DataTypes.DECIMAL(10, 2)),
            DataTypes.FIELD("arr", DataTypes.ARRAY(DataTypes.BIGINT())),
            DataTypes.FIELD("m", DataTypes.MAP(DataTypes.STRING(), DataTypes.BIGINT())),
            DataTypes.FIELD(
                "r",
                DataTypes.ROW(
                    [
                        DataTypes.FIELD("x", DataTypes.STRING()),
                        DataTypes.FIELD("y", DataTypes.INT()),
                    ]
                ),
            ),
        ]
    ),
)
wide.print_schema()
wide.execute().print()
with wide.execute().collect() as rows:
    for row in rows:
        print(row)
        print([type(value).__name__ for value in row])
