from __future__ import annotations

import datetime

from pyflink.common import Row
from pyflink.table import DataTypes

day = datetime.date(2024, 2, 29)
print(
    DataTypes.DATE().to_sql_type(day),
    DataTypes.DATE().from_sql_type(19782),
    DataTypes.DATE().need_conversion(),
)
print(
    DataTypes.INT().to_sql_type(5),
    DataTypes.INT().need_conversion(),
    repr(DataTypes.INT().bridged_to("int")),
)
moment = datetime.datetime(2024, 2, 29, 12, 30, 15, 250000, tzinfo=datetime.UTC)
print(DataTypes.TIMESTAMP(3).to_sql_type(moment))
time = datetime.time(1, 2, 3, 4)
print(DataTypes.TIME().from_sql_type(DataTypes.TIME().to_sql_type(time)) == time)
naive = datetime.datetime(2024, 2, 29, 12, 30, 15, 250000)
for kind in (DataTypes.TIMESTAMP(6), DataTypes.TIMESTAMP_LTZ(6)):
    print(kind.from_sql_type(kind.to_sql_type(naive)) == naive)
print(
    DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.SECOND(3)).to_sql_type(
        datetime.timedelta(days=1, microseconds=5)
    )
)
print(
    DataTypes.ARRAY(DataTypes.DATE()).to_sql_type([day, day]),
    DataTypes.ARRAY(DataTypes.INT()).need_conversion(),
)
print(DataTypes.MAP(DataTypes.STRING(), DataTypes.DATE()).to_sql_type({"a": day}))
row = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", DataTypes.DATE())])
print(
    row.to_sql_type(Row(1, day)),
    row.to_sql_type((2, day)),
    row.to_sql_type({"b": day, "a": 3}),
    row.to_sql_type(Row(b=day, a=4)),
)
print(row.from_sql_type((5, 19782)))
