"""Metrics of functions on Spark, as the job's client shows them."""

from __future__ import annotations

from typing import Any

from scurry.common import Configuration
from scurry.datastream import MapFunction, StreamExecutionEnvironment
from scurry.metrics import DistributionStatistics, MeterStatistics
from scurry.testing import ListSink


class Measured(MapFunction):
    def open(self, runtime_context: Any) -> None:
        group = runtime_context.get_metrics_group()
        self.count = group.add_group("mine").counter("count")
        self.sizes, self.pace = group.distribution("sizes"), group.meter("pace")
        group.gauge("one", lambda: 1)

    def map(self, value: Any) -> Any:
        self.count.inc()
        self.sizes.update(value)
        self.pace.mark_event()
        return value


def test_metrics_are_summed_over_instances_and_batches() -> None:
    configuration = Configuration.of({"scurry.batch.max-records": "20"})
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    stream = env.from_collection(list(range(50))).key_by(lambda e: e).map(Measured()).name("keyed")
    stream.sink_to(ListSink())
    client = env.execute_async()
    client.result()
    found = client.get_metrics()["keyed"]
    pace = found.pop("pace")
    assert found == {"mine.count": 50, "one": 2, "sizes": DistributionStatistics(1225, 50, 0, 49)}
    assert isinstance(pace, MeterStatistics)
    assert pace.count == 50
