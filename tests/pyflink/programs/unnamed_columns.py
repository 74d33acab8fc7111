"""What columns are called that a query does not name."""

from pyflink.common import Row
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col, lit
from pyflink.table.udf import udf

environment = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
t = environment.from_elements([(1, "a")], ["i", "s"])
INNER = DataTypes.ROW([DataTypes.FIELD("c", DataTypes.STRING())])


@udf(
    result_type=DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", INNER)]
    )
)
def pair(x):
    return Row(x, Row(str(x)))


def names(table):
    print(table.get_schema().get_field_names())


names(t.add_columns(col("i") + 1))
names(t.add_columns(col("i") + 1, (col("i") + 2).alias("z"), col("i") + 3))
names(t.add_or_replace_columns(col("i") + 1, col("s").upper_case))
names(t.select(pair(col("i")).flatten))
names(t.select(col("s"), pair(col("i")).flatten, col("i")))
names(t.select(pair(col("i")).get("b")))
names(t.select(pair(col("i")).get("b").get("c")))
rows = t.select(pair(col("i")).alias("r"))
names(rows.select(col("r").flatten))
names(rows.select(col("r").get("b").flatten))
names(rows.select(col("r").get("b").get("c")))
names(t.select(col("s").to_timestamp, col("s").to_time, col("s").to_date))
names(t.select(col("s"), col("s").try_cast(DataTypes.INT())))
names(t.select(col("i").cast(DataTypes.DECIMAL(5, 2))))
names(t.select(col("i").cast(DataTypes.STRING()).cast(DataTypes.INT())))
names(t.select(col("i"), col("i").alias("j"), col("i") == 1, lit(1), lit("x").alias("y")))
names(
    t.group_by(col("s")).select(
        col("s"), col("i").sum, col("i").max + 1, col("i").min.alias("m")
    )
)
names(t.map(pair(col("i"))))
