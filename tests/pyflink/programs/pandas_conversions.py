from __future__ import annotations

import pandas as pd
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", None], "c": [0.5, None, 2.5]})
t = t_env.from_pandas(frame)
t.print_schema()
t.execute().print()
print(t.to_pandas())
print(t.to_pandas().dtypes)
t_env.from_pandas(frame, ["f0", "f1", "f2"]).print_schema()
t_env.from_pandas(frame, [DataTypes.BIGINT(), DataTypes.STRING(), DataTypes.FLOAT()]).print_schema()
t_env.from_pandas(
    frame,
    DataTypes.ROW(
        [
            DataTypes.FIELD("x", DataTypes.INT()),
            DataTypes.FIELD("y", DataTypes.STRING()),
            DataTypes.FIELD("z", DataTypes.DOUBLE()),
        ]
    ),
    splits_num=2,
).print_schema()
result = t.filter(col("a") > 1).select(col("a") * 10, col("b"))
print(result.to_pandas())
print(t.filter(col("a") > 100).to_pandas())
stamped = pd.DataFrame(
    {"ts": pd.to_datetime(["2024-01-01 10:00:00", "2024-01-02 00:00:00"]), "l": [[1], [2, 3]]}
)
t = t_env.from_pandas(stamped)
t.print_schema()
print(t.to_pandas())
