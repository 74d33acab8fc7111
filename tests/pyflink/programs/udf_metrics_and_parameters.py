from __future__ import annotations

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import FunctionContext, ScalarFunction, udf


class Greeting(ScalarFunction):
    def open(self, function_context: FunctionContext):
        self.word = function_context.get_job_parameter("word", "hello")
        self.missing = function_context.get_job_parameter("missing", "default")
        group = function_context.get_metric_group().add_group("my_group")
        self.counter = group.counter("my_counter")
        self.distribution = group.distribution("my_distribution")
        self.meter = group.meter("my_meter")
        self.value = 0
        group.gauge("my_gauge", lambda: self.value)

    def eval(self, name):
        self.counter.inc()
        self.distribution.update(3)
        self.meter.mark_event()
        self.value += 1
        return f"{self.word} {name} {self.missing} {self.value}"

    def close(self):
        self.value = 0

    def is_deterministic(self):
        return False


t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
t_env.get_config().set("python.metric.enabled", "true")
t_env.get_config().set("pipeline.global-job-parameters", "word:ahoy")
greeting = udf(Greeting(), result_type=DataTypes.STRING())
table = t_env.from_elements([("ann",), ("bob",)], ["name"])
table.select(greeting(col("name"))).execute().print()
