"""The planner: what a micro-batch reads, when there is one, and where the job stands after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest

from scurry.checkpoint.epochs import Epoch, decode_epoch, rescaled
from scurry.engine.planner import BatchPlanner, deal_again
from scurry.functions.source import ReadPlan, ReadRange, Source, SourceBatch, SourceEnumerator
from scurry.runtime.event_time import mark_cell
from scurry.runtime.ingress import TaskPlan
from scurry.runtime.operator import Operator
from scurry.runtime.report import OperatorReport
from scurry.runtime.specs import Alignment, JobSpec, OperatorSpec, SourceSpec
from scurry.state.inventory import OperatorRecord

PLENTY = 1000


class Numbers(Source):
    """The numbers below ``count``; number n is in partition n modulo ``partitions``."""

    def __init__(self, count: int, partitions: int = 1, bounded: bool = True) -> None:
        self.count, self.partitions, self.bounded = count, partitions, bounded
        self.told: list[tuple[str, Any]] = []

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        self.told.append(("made for", parallelism))
        return _Enumerator(self)

    def read(self, what: Any) -> Iterator[SourceBatch]:
        raise AssertionError("the planner reads nothing")


class _Enumerator(SourceEnumerator):
    def __init__(self, source: Numbers) -> None:
        self.source = source

    def initial_position(self) -> int:
        return 0

    def partitions(self) -> list[str]:
        return [str(number) for number in range(self.source.partitions)]

    def plan(self, position: int, max_records: int) -> ReadPlan:
        end = min(position + max_records, self.source.count)
        ranges = [
            ReadRange(str(number % self.source.partitions), number)
            for number in range(position, end)
        ]
        return ReadPlan(end, ranges, self.source.bounded and end == self.source.count)

    def committed(self, position: int) -> None:
        self.source.told.append(("committed", position))

    def observed(self, records: int, bytes_read: int) -> None:
        self.source.told.append(("observed", (records, bytes_read)))

    def gauges(self) -> dict[str, int]:
        return {"left": self.source.count}

    def close(self) -> None:
        self.source.told.append(("closed", None))


def job_of(*sources: Numbers, tasks: int = 1, **options: Any) -> JobSpec:
    specs = tuple(
        SourceSpec(uid, uid, source, tasks, ()) for uid, source in zip("abc", sources, strict=False)
    )
    inventory = {spec.uid: OperatorRecord("source Numbers", spec.uid) for spec in specs}
    strategy = OperatorSpec("ts", "ts", Operator)
    return JobSpec(
        "job", "", tasks, 128, specs, {"ts": strategy}, (), inventory=inventory, **options
    )


def planner_of(*sources: Numbers, **options: Any) -> BatchPlanner:
    return BatchPlanner(job_of(*sources, **options), PLENTY)


def reads(plans: Sequence[TaskPlan] | None) -> list[dict[tuple[str, str], list[Any]]]:
    """For each task, what it reads of each partition."""
    assert plans is not None
    return [{(p.source, p.partition): p.ranges for p in plan.partitions} for plan in plans]


def stored(epoch: Epoch) -> Epoch:
    """An epoch as another driver reads it."""
    return decode_epoch(msgspec.json.encode(epoch))


# --- what a plan holds


def test_a_plan_has_the_clock_the_number_and_a_share_for_each_task() -> None:
    planner = planner_of(Numbers(5, partitions=3, bounded=False), tasks=2)
    plans = planner.next(7, now=1000)
    assert reads(plans) == [
        {("a", "0"): [0, 3], ("a", "2"): [2]},
        {("a", "1"): [1, 4]},
    ]
    assert plans is not None
    assert [(p.batch, p.task, p.tasks, p.now, p.final) for p in plans] == [
        (7, 0, 2, 1000, False),
        (7, 1, 2, 1000, False),
    ]


def test_partitions_have_ranks_of_their_own_over_all_sources() -> None:
    planner = planner_of(Numbers(2, 2, bounded=False), Numbers(2, 2, bounded=False), tasks=2)
    plans = planner.next(0, now=0)
    assert plans is not None
    ranks = {(p.source, p.partition): p.rank for plan in plans for p in plan.partitions}
    assert ranks == {("a", "0"): 0, ("a", "1"): 1, ("b", "0"): 2, ("b", "1"): 3}


def test_the_limit_of_records_is_that_of_each_source() -> None:
    planner = planner_of(Numbers(5, bounded=False), Numbers(1, bounded=False))
    planner.max_records = 2
    assert reads(planner.next(0, now=0)) == [{("a", "0"): [0, 1], ("b", "0"): [0]}]
    assert reads(planner.next(1, now=0)) == [{("a", "0"): [2, 3], ("b", "0"): []}]


def test_without_anything_to_read_there_is_no_plan() -> None:
    planner = planner_of(Numbers(1, bounded=False))
    assert planner.next(0, now=0) is not None
    assert planner.next(1, now=5) is None
    assert not planner.done


def test_cells_come_back_with_the_next_plan() -> None:
    planner = planner_of(Numbers(4, partitions=2, bounded=False))
    planner.max_records = 2
    first = planner.next(0, now=0)
    assert first is not None
    assert [p.cells for p in first[0].partitions] == [{}, {}]
    planner.remember("a", "1", {"highest": 17})
    second = planner.next(1, now=0)
    assert second is not None
    assert [p.cells for p in second[0].partitions] == [{}, {"highest": 17}]


def test_operator_states_come_back_with_the_next_plan() -> None:
    planner = planner_of(Numbers(3, partitions=2, bounded=False), tasks=2)
    planner.max_records = 1
    planner.next(0, now=0)
    planner.remember_operators(OperatorReport((0, 1), "v1", {"op": {"seen": b"7"}}))
    plans = planner.next(1, now=0)
    assert plans is not None
    assert [(plan.states, plan.token) for plan in plans] == [
        ({}, ""),
        ({"op": {"seen": b"7"}}, "v1"),
    ]


# --- a source that ends


def test_the_last_records_and_the_end_are_one_plan() -> None:
    planner = planner_of(Numbers(2))
    plans = planner.next(0, now=0)
    assert reads(plans) == [{("a", "0"): [0, 1]}]
    assert plans is not None
    assert plans[0].final
    assert plans[0].partitions[0].ended
    assert planner.done
    assert planner.next(1, now=0) is None


def test_a_job_ends_with_the_last_of_its_sources() -> None:
    planner = planner_of(Numbers(1), Numbers(3))
    planner.max_records = 2
    first = planner.next(0, now=0)
    assert first is not None
    assert not first[0].final
    assert {p.source: p.ended for p in first[0].partitions} == {"a": True, "b": False}
    second = planner.next(1, now=0)
    assert reads(second) == [{("a", "0"): [], ("b", "0"): [2]}]
    assert second is not None
    assert second[0].final


def test_an_empty_source_that_ends_still_has_a_plan() -> None:
    planner = planner_of(Numbers(0))
    plans = planner.next(0, now=0)
    assert reads(plans) == [{("a", "0"): []}]
    assert planner.done


# --- waking


def reports(*wakes: int | None) -> list[dict[str, Any]]:
    return [{"wake": wake, "warnings": []} for wake in wakes]


def test_the_earliest_wish_brings_a_batch_without_records() -> None:
    planner = planner_of(Numbers(1, bounded=False))
    planner.next(0, now=0)
    planner.take_wishes(reports(None, 500, 300))
    assert planner.next(1, now=299) is None
    assert reads(planner.next(1, now=300)) == [{("a", "0"): []}]
    planner.take_wishes(reports(None))
    assert planner.next(2, now=600) is None, "a wish is made anew with each micro-batch"


def test_a_warning_of_several_tasks_is_given_once() -> None:
    planner = planner_of(Numbers(1, bounded=False))
    told = [{"wake": None, "warnings": ["look out"]}] * 2
    with pytest.warns(RuntimeWarning, match="look out") as caught:
        planner.take_wishes(told)
    assert len(caught) == 1
    planner.take_wishes(told)  # a second warning would be an error


# --- alignment


def aligned(drift: int) -> BatchPlanner:
    alignment = {uid: Alignment("group", drift, mark_cell(f"{uid}-ts")) for uid in "ab"}
    planner = planner_of(Numbers(9, bounded=False), Numbers(9, bounded=False), alignment=alignment)
    planner.max_records = 1
    planner.next(0, now=0)
    return planner


@pytest.mark.parametrize(("ahead", "held"), [(110, False), (111, True)])
def test_a_source_too_far_ahead_of_its_group_is_not_asked(ahead: int, held: bool) -> None:
    planner = aligned(drift=10)
    planner.remember("a", "0", {mark_cell("a-ts"): ahead})
    planner.remember("b", "0", {mark_cell("b-ts"): 100})
    (found,) = reads(planner.next(1, now=0))
    assert found == {("a", "0"): [] if held else [1], ("b", "0"): [1]}


def test_a_source_whose_watermark_is_unknown_holds_nobody_back() -> None:
    planner = aligned(drift=10)
    planner.remember("a", "0", {mark_cell("a-ts"): 10_000})
    (found,) = reads(planner.next(1, now=0))
    assert found == {("a", "0"): [1], ("b", "0"): [1]}


def test_a_source_that_was_held_back_goes_on_once_the_others_have_caught_up() -> None:
    planner = aligned(drift=10)
    planner.remember("a", "0", {mark_cell("a-ts"): 200})
    planner.remember("b", "0", {mark_cell("b-ts"): 100})
    assert reads(planner.next(1, now=0))[0]["a", "0"] == []
    planner.remember("b", "0", {mark_cell("b-ts"): 190})
    assert reads(planner.next(2, now=0))[0]["a", "0"] == [1], "nothing was skipped meanwhile"


# --- epochs


def test_another_planner_goes_on_after_an_epoch() -> None:
    job = job_of(Numbers(6, partitions=2, bounded=False))
    planner = BatchPlanner(job, 3)
    planner.next(0, now=1000)
    planner.remember("a", "0", {"ts|max": 5, "an operator that is gone|max": 9})
    planner.take_wishes(reports(4000))
    epoch = planner.epoch(0)
    assert (epoch.batch, epoch.positions, epoch.now, epoch.wake) == (0, {"a": 3}, 1000, 4000)

    resumed = BatchPlanner(job, 3, stored(epoch))
    plans = resumed.next(1, now=1500)
    assert reads(plans) == [{("a", "0"): [4], ("a", "1"): [3, 5]}]
    assert plans is not None
    assert [p.cells for p in plans[0].partitions] == [{"ts|max": 5}, {}]
    assert resumed.next(2, now=3999) is None, "nothing is left to read"


def test_the_wish_of_an_epoch_still_holds() -> None:
    job = job_of(Numbers(1, bounded=False))
    planner = BatchPlanner(job, PLENTY)
    planner.next(0, now=0)
    planner.take_wishes(reports(700))
    resumed = BatchPlanner(job, PLENTY, stored(planner.epoch(0)))
    assert resumed.next(1, now=699) is None
    assert resumed.next(1, now=700) is not None


def test_a_planner_that_goes_on_plans_in_a_branch_of_its_own() -> None:
    job = job_of(Numbers(6, bounded=False))
    planner = BatchPlanner(job, 1)
    planner.next(0, now=0)
    planner.next(1, now=0)
    resumed = BatchPlanner(job, 1, stored(planner.epoch(0)))
    resumed.next(1, now=0)
    assert resumed.history.mark(0) == planner.history.mark(0)
    assert not resumed.history.holds(planner.history.mark(1)), "another batch of the same number"


def test_sources_that_the_program_has_no_longer_are_left_out() -> None:
    both = BatchPlanner(job_of(Numbers(9, bounded=False), Numbers(9, bounded=False)), 2)
    both.next(0, now=0)
    resumed = BatchPlanner(job_of(Numbers(9, bounded=False)), 2, stored(both.epoch(0)))
    assert reads(resumed.next(1, now=0)) == [{("a", "0"): [2, 3]}]


def test_a_new_source_begins_at_its_beginning() -> None:
    one = BatchPlanner(job_of(Numbers(9, bounded=False)), 2)
    one.next(0, now=0)
    job = job_of(Numbers(9, bounded=False), Numbers(9, bounded=False))
    resumed = BatchPlanner(job, 2, stored(one.epoch(0)))
    assert reads(resumed.next(1, now=0)) == [{("a", "0"): [2, 3], ("b", "0"): [0, 1]}]


def test_a_job_that_had_ended_stays_so_unless_its_source_goes_on() -> None:
    planner = planner_of(Numbers(2))
    planner.next(0, now=0)
    epoch = planner.epoch(0)
    assert BatchPlanner(job_of(Numbers(2)), PLENTY, stored(epoch)).done
    resumed = BatchPlanner(job_of(Numbers(3, bounded=False)), PLENTY, stored(epoch))
    assert not resumed.done
    plans = resumed.next(1, now=0)
    assert reads(plans) == [{("a", "0"): [2]}]
    assert plans is not None
    assert not plans[0].partitions[0].ended


def test_an_epoch_says_whose_state_there_is() -> None:
    planner = planner_of(Numbers(1, bounded=False))
    planner.take_inventory(
        [{"stage": 2, "sizes": None, "written": {"a\x1fcount": "value", "gone\x1fx": "value"}}]
    )
    (record,) = planner.epoch(0).inventory.values()
    assert (record.name, record.states, record.stages) == ("a", {"count": "value"}, [2])
    resumed = BatchPlanner(job_of(Numbers(1)), PLENTY, stored(planner.epoch(0)))
    assert resumed.epoch(0).inventory["a"].states == {"count": "value"}


# --- another parallelism


def test_with_another_parallelism_other_tasks_read_the_same_partitions() -> None:
    source = Numbers(9, partitions=3, bounded=False)
    planner = BatchPlanner(job_of(source, tasks=3), 3)
    assert len(reads(planner.next(0, now=0))) == 3
    wider = job_of(source, tasks=2)
    resumed = BatchPlanner(wider, 3, rescaled(planner.epoch(0), wider))
    assert reads(resumed.next(1, now=0)) == [
        {("a", "0"): [3], ("a", "2"): [5]},
        {("a", "1"): [4]},
    ]
    made_for = [number for what, number in source.told if what == "made for"]
    assert made_for == [3, 3], "a source is told for ever how many tasks it had at first"


def test_a_planned_batch_is_dealt_out_again_with_the_same_ranges() -> None:
    source = Numbers(4, partitions=4, bounded=False)
    planner = BatchPlanner(job_of(source, tasks=4), PLENTY)
    plans = planner.next(0, now=70)
    assert plans is not None
    job = job_of(source, tasks=2)
    again = deal_again(plans, job, rescaled(planner.epoch(0), job))
    assert reads(again) == [
        {("a", "0"): [0], ("a", "2"): [2]},
        {("a", "1"): [1], ("a", "3"): [3]},
    ]
    assert [(plan.batch, plan.now, plan.tasks) for plan in again] == [(0, 70, 2), (0, 70, 2)]


# --- what the sources are told


def test_sources_are_told_what_was_read_and_what_is_durable() -> None:
    source = Numbers(5, bounded=False)
    planner = planner_of(source)
    planner.max_records = 3
    planner.next(0, now=0)
    planner.observe({"read:a": 2, "rejected:a": 1, "read_bytes:a": 40, "read:other": 9})
    planner.committed()
    planner.close()
    assert source.told[1:] == [("observed", (3, 40)), ("committed", 3), ("closed", None)]


def test_gauges_carry_the_uid_of_their_source() -> None:
    assert planner_of(Numbers(5), Numbers(7)).gauges() == {"left:a": 5, "left:b": 7}
