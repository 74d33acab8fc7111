"""A job that changes its parallelism by its backlog."""

from __future__ import annotations

import pytest

from scurry.common import Configuration
from scurry.common.errors import ConfigurationError, JobError
from scurry.engine.rescaling import BacklogWatch, Bounds, Rescaling


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def watch() -> tuple[BacklogWatch, Clock]:
    clock = Clock()
    return BacklogWatch(Bounds(least=1, most=8, target=60, cool_down=300), clock), clock


@pytest.mark.parametrize(
    ("parallelism", "waiting", "chosen"),
    [
        (2, 50_000, None),  # 50 s at 1000 records a second
        (2, 90_000, 3),  # as many slots as make 90 s of two slots 60 s
        (2, 9_000_000, 4),  # twice as many at a time
        (6, 9_000_000, 8),  # within the bounds
        (8, 9_000_000, None),
        (5, 5_000, 3),  # even with half of the slots it would be 10 s
        (5, 8_000, None),
        (1, 0, None),
    ],
)
def test_the_backlog_decides(parallelism: int, waiting: int, chosen: int | None) -> None:
    watched, clock = watch()
    clock.now = 300
    assert watched.choice(parallelism, waiting, 1000, 1.0) == chosen


def test_between_two_changes_there_is_a_pause() -> None:
    watched, clock = watch()
    clock.now = 299
    assert watched.choice(1, 9_000_000, 1000, 1.0) is None
    clock.now = 300
    assert watched.choice(1, 9_000_000, 1000, 1.0) == 2
    clock.now = 599
    assert watched.choice(2, 9_000_000, 1000, 1.0) is None
    clock.now = 600
    assert watched.choice(2, 0, 0, 1.0) is None
    assert watched.choice(2, 9_000_000, 1000, 1.0) == 4


def test_a_run_that_ends_slowly_is_not_taken_for_the_next_one() -> None:
    halted: list[int] = []
    rescaling = Rescaling(lambda: halted.append(1), 128, None)
    answer = rescaling.ask(3)
    for _ in range(3):
        rescaling.serve()
        assert (halted, rescaling.due, answer.done()) == ([1], 3, False)
    rescaling.take_up()
    assert rescaling.due == 3
    rescaling.serve()
    assert answer.result().startswith("parallelism 3, downtime")
    assert rescaling.due is None


def test_what_cannot_be_is_refused() -> None:
    settings = {
        "scurry.rescale.by-backlog": "true",
        "scurry.rescale.min-parallelism": "5",
        "scurry.rescale.max-parallelism": "4",
    }
    assert Bounds.of(Configuration()) is None
    with pytest.raises(ConfigurationError, match=r"min-parallelism is 5, .*max-parallelism, 4"):
        Bounds.of(Configuration.of(settings))
    rescaling = Rescaling(lambda: None, 128, None)
    with pytest.raises(JobError, match="from 1 to 128, the number of key groups"):
        rescaling.ask(129)
    answer = rescaling.ask(3)
    with pytest.raises(JobError, match="just changing to a parallelism of 3"):
        rescaling.ask(4)
    rescaling.close(None)
    assert isinstance(answer.exception(), JobError)
    with pytest.raises(JobError, match="has ended"):
        rescaling.ask(3)
