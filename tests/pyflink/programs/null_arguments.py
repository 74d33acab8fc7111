"""None as an argument of a function is NULL; None for what may be left out leaves it out."""

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import coalesce, col, concat, concat_ws

t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
fields = [
    DataTypes.FIELD("a", DataTypes.STRING()),
    DataTypes.FIELD("b", DataTypes.STRING()),
    DataTypes.FIELD("n", DataTypes.INT()),
]
table = t_env.from_elements([("x", "y", 1)], DataTypes.ROW(fields))
a, b, n = col("a"), col("b"), col("n")

columns = [
    a.concat(None),
    concat(a, None),
    concat(a, b, None),
    concat_ws(",", a, None),
    a.replace("x", None),
    n.elt(a, None),
    n.if_null(None),
    n + None,
    a.lpad(3, None),
    a.position(None),
    a.instr(None),
    a.locate(None),
    a.locate("x", None),
    n.round(None),
    n.in_(None),
    n.between(None, 1),
    a.like(None),
    a.repeat(None),
    n == None,  # noqa: E711
    (n == 1).then(n, None),
    a.left(None),
    coalesce(a, None),
    coalesce(None, a),
    a.split_index(",", None),
    n**None,
    a.trim(None),
    a.substring(1, None),
]
named = [column.alias(f"c{at}") for at, column in enumerate(columns)]
with table.select(*named).execute().collect() as rows:
    for row in rows:
        for column, value in zip(columns, row):
            print(column, "=>", value)
