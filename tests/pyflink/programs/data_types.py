from __future__ import annotations

from pyflink.table import DataTypes
from pyflink.table.types import create_arrow_schema, from_arrow_type, to_arrow_type

types = [
    DataTypes.NULL(),
    DataTypes.CHAR(3),
    DataTypes.VARCHAR(5),
    DataTypes.STRING(),
    DataTypes.BOOLEAN(),
    DataTypes.BINARY(2),
    DataTypes.VARBINARY(4),
    DataTypes.BYTES(),
    DataTypes.DECIMAL(10, 2),
    DataTypes.TINYINT(),
    DataTypes.SMALLINT(),
    DataTypes.INT(),
    DataTypes.BIGINT(),
    DataTypes.FLOAT(),
    DataTypes.DOUBLE(),
    DataTypes.DATE(),
    DataTypes.TIME(3),
    DataTypes.TIMESTAMP(3),
    DataTypes.TIMESTAMP_LTZ(6),
    DataTypes.TIMESTAMP_WITH_LOCAL_TIME_ZONE(3),
    DataTypes.ARRAY(DataTypes.INT()),
    DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()),
    DataTypes.MULTISET(DataTypes.STRING()),
    DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.INT(), "first"), DataTypes.FIELD("b", DataTypes.STRING())]
    ),
    DataTypes.BIGINT(False),
    DataTypes.INT().not_null(),
    DataTypes.LIST_VIEW(DataTypes.INT()),
    DataTypes.MAP_VIEW(DataTypes.INT(), DataTypes.STRING()),
]
for one in types:
    print(repr(one), one.type_name())
print(
    DataTypes.INT() == DataTypes.INT(),
    DataTypes.INT() == DataTypes.INT(False),
    DataTypes.INT() == DataTypes.BIGINT(),
)
row = types[23]
print(
    row.field_names(),
    row.field_types(),
    len(row),
    row["a"].name,
    row[1].name,
    [f.name for f in row],
)
print(DataTypes.INT(False).nullable() == DataTypes.INT())
arrow = [
    DataTypes.INT(),
    DataTypes.STRING(),
    DataTypes.DECIMAL(5, 1),
    DataTypes.TIMESTAMP(3),
    DataTypes.TIMESTAMP(9),
    DataTypes.TIME(0),
    DataTypes.DATE(),
    DataTypes.ARRAY(DataTypes.DOUBLE()),
    DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()),
    DataTypes.BINARY(3),
    DataTypes.BYTES(),
    DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())]),
    DataTypes.BOOLEAN(),
]
for one in arrow:
    print(to_arrow_type(one), repr(from_arrow_type(to_arrow_type(one))))
print(create_arrow_schema(["a", "b"], [DataTypes.INT(), DataTypes.STRING(False)]))
