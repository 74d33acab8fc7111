"""What a task of the live engine tells of the source partitions that it reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from scurry.common import WatermarkStrategy
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.functions import Source, SourceBatch, SourceEnumerator
from scurry.engine.live.messages import Done, Round, Told
from scurry.engine.live.parts import Parts
from scurry.runtime.envelope import CELLS, Envelope
from scurry.runtime.ingress import PartitionPlan, TaskPlan
from scurry.runtime.report import Tick, decode_report
from scurry.testing import ListSink


class Stamps(Source):
    """Records that are their own timestamps; what is read is in the plan."""

    bounded = False

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        raise NotImplementedError

    def read(self, what: Any) -> Iterator[SourceBatch]:
        yield SourceBatch(rows=list(what))


class Reader:
    """Task 0 of 2, with what it has told the driver."""

    def __init__(self) -> None:
        env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda element, _: element
        )
        env.from_source(Stamps(), strategy, "stamps").uid("stamps").sink_to(ListSink())
        spec = env._compile(None).spec
        self.told: list[Done | Told] = []
        self._rounds = 0

        def nowhere(*_: Any) -> Any:
            raise AssertionError("the job has no stage")

        self._parts = Parts(spec, 0, 2, nowhere, self.told.append, lambda: spec, nowhere)

    def read(self, moved: bool, *partitions: PartitionPlan) -> None:
        """One round, marked, in which the task reads ``partitions``; ``moved`` says that they were
        dealt out anew before it."""
        self._rounds += 1
        plan = TaskPlan(self._rounds, 0, 2, 0, list(partitions), turn=self._rounds)
        tick = Tick(0, self._rounds, False, {}, self._rounds)
        self._parts.plan(Round(self._rounds, True, tick, [plan], moved))
        assert self._parts.advance()

    @property
    def highest(self) -> dict[str, int]:
        """By partition: the highest timestamp, as the last checkpoint has it from this task."""
        (told,) = [each for each in self.told if isinstance(each, Told)][-1:]
        envelopes = [Envelope._make(each) for each in told.envelopes]
        reports = [decode_report(each.payload) for each in envelopes if each.kind == CELLS]
        return {partition: max(cells.values()) for _, partition, cells in reports}


@pytest.fixture
def reader() -> Reader:
    return Reader()


def part(name: str, stamps: list[int], cells: dict[str, int] | None = None) -> PartitionPlan:
    return PartitionPlan("stamps", name, 0, [stamps] if stamps else [], cells or {})


def test_event_time_goes_on_where_the_task_has_left_it(reader: Reader) -> None:
    reader.read(True, part("a", [5, 9]), part("b", [7]))
    reader.read(False, part("a", [6]), part("b", [8]))
    assert reader.highest == {"a": 9, "b": 8}
    assert [each.read for each in reader.told if isinstance(each, Done)] == [3, 2]


def test_a_partition_that_has_moved_is_for_its_new_task_to_tell_of(reader: Reader) -> None:
    """Else the checkpoint might go on with where it stood when it was read here."""
    reader.read(True, part("a", [5, 9]), part("b", [7]))
    reader.read(True, part("b", [8]))
    assert reader.highest == {"b": 8}
