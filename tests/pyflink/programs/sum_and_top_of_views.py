from __future__ import annotations

from pyflink.common import Row
from pyflink.table import DataTypes, EnvironmentSettings, MapView, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import TableAggregateFunction, udtaf


class Frequent(TableAggregateFunction):
    """The two most frequent words, of which some are taken back."""

    def create_accumulator(self):
        return Row(MapView())

    def accumulate(self, accumulator, word):
        counts = accumulator[0]
        counts[word] = (counts[word] if word in counts else 0) + 1

    def retract(self, accumulator, word):
        counts = accumulator[0]
        counts[word] = counts[word] - 1
        if not counts[word]:
            del counts[word]

    def emit_value(self, accumulator):
        ranked = sorted(accumulator[0].items(), key=lambda pair: (-pair[1], pair[0]))
        for word, count in ranked[:2]:
            yield Row(word, count)

    def get_accumulator_type(self):
        return DataTypes.ROW(
            [DataTypes.FIELD("counts", DataTypes.MAP_VIEW(DataTypes.STRING(), DataTypes.BIGINT()))]
        )

    def get_result_type(self):
        return DataTypes.ROW(
            [DataTypes.FIELD("word", DataTypes.STRING()), DataTypes.FIELD("n", DataTypes.BIGINT())]
        )


t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
words = t_env.from_elements(
    [("a", "x"), ("b", "y"), ("a", "y"), ("c", "x"), ("b", "x")], ["k", "word"]
)
last = words.group_by(col("k")).select(col("k"), col("word").max.alias("word"))
frequent = udtaf(Frequent())
result = last.flat_aggregate(frequent(col("word")).alias("w", "n")).select(col("w"), col("n"))
print(result.to_pandas().sort_values("w").reset_index(drop=True))
