"""The checkpoint interval bounds how long a micro-batch takes, and delays none."""

from __future__ import annotations

import pytest

from scurry.common import Configuration
from scurry.common.options import checkpoints, execution
from scurry.engine.pace import Pace, pause_between_batches


def settle(pace: Pace, most: int, per_record: float, fixed: float) -> list[tuple[int, float]]:
    """Sizes and durations of micro-batches that always find enough to read."""
    found, size = [], most
    for _ in range(12):
        working = size * per_record
        found.append((size, fixed + working))
        size = pace.after(size, fixed + working, {"ingress": working / 3, "stage 1": working / 1.5})
    return found


def test_micro_batches_that_take_too_long_get_smaller() -> None:
    batches = settle(Pace(500_000, 2.0), 500_000, per_record=0.0001, fixed=0.2)
    assert batches[0] == (500_000, pytest.approx(50.2))
    assert all(seconds <= 2.01 for _, seconds in batches[1:])
    assert all(seconds > 1.0 for _, seconds in batches[1:]), "and not smaller than need be"


def test_they_grow_again_when_records_get_cheaper() -> None:
    pace = Pace(500_000, 2.0)
    settle(pace, 500_000, per_record=0.001, fixed=0.2)
    batches = settle(pace, 1_000, per_record=0.000001, fixed=0.2)
    assert batches[-1][0] == 500_000


def test_an_interval_shorter_than_an_empty_micro_batch_changes_nothing() -> None:
    batches = settle(Pace(500_000, 0.1), 500_000, per_record=0.000001, fixed=0.3)
    assert {size for size, _ in batches} == {500_000}


def test_without_an_interval_sizes_stay() -> None:
    batches = settle(Pace(1000, None), 1000, per_record=1.0, fixed=0.2)
    assert {size for size, _ in batches} == {1000}


def test_short_micro_batches_grow_unless_the_program_says_how_large_they_are() -> None:
    batches = settle(Pace(1000, None, growing=True), 1000, per_record=0.0001, fixed=0.2)
    assert [size for size, _ in batches[:5]] == [1000, 2000, 4000, 4000, 4000]
    batches = settle(Pace(1000, None, growing=True), 1000, per_record=0.0003, fixed=0.2)
    assert [size for size, _ in batches[:4]] == [1000, 2000, 2000, 2000], "long enough"
    batches = settle(Pace(1000, None), 1000, per_record=0.0001, fixed=0.2)
    assert {size for size, _ in batches} == {1000}


def test_micro_batches_that_are_not_full_do_not_grow() -> None:
    pace = Pace(1000, None, growing=True)
    assert pace.after(999, 0.3, {}) == 1000


def test_micro_batches_that_have_grown_come_back_when_records_get_dearer() -> None:
    pace = Pace(1000, None, growing=True)
    settle(pace, 1000, per_record=0.0001, fixed=0.2)
    batches = settle(pace, 4000, per_record=0.001, fixed=0.2)
    assert [size for size, _ in batches[:4]] == [4000, 2000, 1000, 1000]


def test_short_micro_batches_grow_within_the_interval() -> None:
    pace = Pace(500_000, 0.5, growing=True)
    batches = settle(pace, 500_000, per_record=0.0000001, fixed=0.2)
    assert batches[-1][0] == 2_000_000
    pace = Pace(500_000, 0.5, growing=True)
    batches = settle(pace, 500_000, per_record=0.000001, fixed=0.2)
    assert all(seconds <= 0.51 for _, seconds in batches[1:])


def test_only_an_option_of_its_own_holds_micro_batches_back() -> None:
    given = Configuration.of({"execution.checkpointing.interval": "15 s"})
    assert checkpoints.CHECKPOINT_INTERVAL.read(given) == 15_000
    assert execution.BATCH_INTERVAL.read(given) is None
    given = Configuration.of({"scurry.batch.min-interval": "2 s"})
    assert execution.BATCH_INTERVAL.read(given) == 2_000


@pytest.mark.parametrize(
    ("given", "pause"),
    [
        ({}, None),
        ({"table.exec.mini-batch.allow-latency": "5 s"}, None),
        ({"table.exec.mini-batch.enabled": "true"}, None),
        (
            {
                "table.exec.mini-batch.enabled": "true",
                "table.exec.mini-batch.allow-latency": "5 s",
                "table.exec.mini-batch.size": "5000",
            },
            5_000,
        ),
        (
            {
                "table.exec.mini-batch.enabled": "true",
                "table.exec.mini-batch.allow-latency": "5 s",
                "scurry.batch.min-interval": "2 s",
            },
            2_000,
        ),
    ],
)
def test_mini_batches_collect_rows_for_their_latency(
    given: dict[str, str], pause: int | None
) -> None:
    assert pause_between_batches(Configuration.of(given)) == pause
