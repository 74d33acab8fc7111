"""Metrics of functions: summed over instances, counted once whatever crashes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from scurry.common.errors import FunctionError, ProgramError
from scurry.datastream import KeyedProcessFunction, MapFunction, StreamExecutionEnvironment
from scurry.metrics import DistributionStatistics, MeterStatistics
from scurry.runtime.metrics import MetricRegistry, MetricTotals
from scurry.runtime.specs import OperatorSpec
from scurry.testing import ListSink
from scurry.testing.local import LocalJob


class Measured(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        group = runtime_context.get_metrics_group()
        self.seen = group.counter("seen")
        self.odd = group.add_group("numbers").add_group("parity", "odd").counter("seen")
        self.sizes = group.distribution("sizes")
        self.pace = group.meter("pace", 10)
        self.largest = 0
        group.gauge("largest", lambda: self.largest)

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.seen.inc()
        self.odd.inc(value % 2)
        self.sizes.update(value)
        self.pace.mark_event()
        self.pace.mark_event(2)
        self.largest = max(self.largest, value)
        yield value


def job(numbers: int, parallelism: int = 2) -> LocalJob:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    stream = env.from_collection(list(range(numbers))).key_by(lambda e: e % 2)
    stream.process(Measured()).name("measured").sink_to(ListSink())
    return LocalJob(env._compile(None))


def test_all_kinds_over_all_instances_and_batches() -> None:
    with job(20) as running:
        while not running.done:
            running.step(7)
        found = running.metrics["measured"]
    assert found["seen"] == 20
    assert found["numbers.parity.odd.seen"] == 10
    assert found["sizes"] == DistributionStatistics(190, 20, 0, 19)
    assert found["sizes"].mean == 9.5
    # both keys may have fallen to one slot
    assert found["largest"] in (19, 19 + 18)
    assert isinstance(found["pace"], MeterStatistics)
    assert found["pace"].count == 60
    assert 0 < found["pace"].rate <= 60


def test_a_crashed_batch_counts_once() -> None:
    with job(20) as running:
        while not running.done:
            running.crash_step(7)
        assert running.metrics["measured"]["seen"] == 20


def test_chained_functions_and_equal_names() -> None:
    class Count(MapFunction):
        def open(self, runtime_context: Any) -> None:
            self.count = runtime_context.get_metrics_group().counter("count")

        def map(self, value: Any) -> Any:
            self.count.inc(value)
            self.count.dec(1)
            return value

    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    first = env.from_collection([1, 2, 3]).map(Count()).uid("a")
    first.map(Count()).uid("b").sink_to(ListSink())
    with LocalJob(env._compile(None)) as running:
        running.step()
        assert running.metrics == {"Map (a)": {"count": 3}, "Map (b)": {"count": 3}}


def test_meters_forget_what_is_older_than_their_span(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("scurry.runtime.metrics.time.monotonic", lambda: now[0])
    spec = OperatorSpec(uid="u", name="op", make=lambda spec: None)  # type: ignore[arg-type, return-value]
    registry, totals = MetricRegistry(), MetricTotals()
    meter = registry.group(spec).meter("m", 10)
    now[0] += 20
    for _ in range(4):
        meter.mark_event(30)
        totals.take([{"metrics": registry.report()}])
        now[0] += 5
    # marks at 20, 25, 30 and 35 s, now it is 40 s: those from 30 s on count
    assert totals.by_operator({"u": spec}) == {"op": {"m": MeterStatistics(120, 6.0)}}
    assert meter.get_count() == 120


def test_mistakes() -> None:
    spec = OperatorSpec(uid="u", name="op", make=lambda spec: None)  # type: ignore[arg-type, return-value]
    registry = MetricRegistry()
    group = registry.group(spec)
    assert group.counter("n") is group.counter("n")
    with pytest.raises(ProgramError, match="'n' as a meter, but has it as a counter already"):
        group.meter("n")
    with pytest.raises(ProgramError, match="non-empty string as its name, got 5"):
        group.counter(5)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="gauge 'g' needs a callable, got 5"):
        group.gauge("g", 5)  # type: ignore[arg-type]
    group.gauge("g", lambda: "x")  # type: ignore[arg-type, return-value]
    with pytest.raises(FunctionError, match=r"gauge returned 'x' \(str\)(.|\n)*gauge g of op"):
        registry.report()
