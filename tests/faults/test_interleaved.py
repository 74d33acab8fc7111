"""Driver and tasks of the live engine take turns at random, and attempts end at any of their steps.

``python -m tests.faults.test_interleaved 1000`` tries so many more.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.faults import job, moving_job, timed_job
from tests.faults.driver import read_files
from tests.faults.interleaved import World
from tests.faults.soak import differences

#: so that runs are made, and journals are compacted
SETTINGS = {"scurry.state.compact-above": "4000", "scurry.state.runs-above": "2"}


def made(root: Path, build: Any, seed: int) -> World:
    """The job, with as many failures, and as much that copies write, as ``seed`` says."""
    for part in ("first", "second", "local"):
        (root / part).mkdir(parents=True)
    chance = random.Random(seed)
    return World(
        *(root, seed, build, chance.randint(1, 4), chance.choice([20, 50])),
        *(chance.choice([-1, 0, 0, 3]), SETTINGS),
    )


def compare(root: Path, *due: Iterable[Any]) -> None:
    """Raise unless the sinks hold just what is due."""
    for name, rows in zip(("first", "second"), due, strict=True):
        assert Counter(map(repr, job.FileSink(root / name).results())) == Counter(map(repr, rows))


def keys_and_timers(root: Path, seed: int) -> None:
    """Two keyed levels with every kind of state and with timers."""
    epoch = made(root, job.build, seed).run()
    first, second, states = job.expected(epoch.positions["numbers"])
    compare(root, first, second)
    assert not differences(states, read_files(root / "checkpoint"))


def moving_partitions(root: Path, seed: int) -> None:
    """Windows and timers behind source partitions that move from task to task."""
    epoch = made(root, moving_job.build, seed).run()
    compare(root, *moving_job.expected(epoch.positions["parts"]))


def event_time(root: Path, seed: int) -> None:
    """Where event time stands, and what timers see of the records of their key."""
    epoch = made(root, timed_job.build, seed).run()
    compare(root, *timed_job.expected(epoch.positions["parts"]))


RUNS = [keys_and_timers, moving_partitions, event_time]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("run", RUNS)
def test_any_order_and_any_end_of_attempts_gives_the_same(
    tmp_path: Path, run: Any, seed: int
) -> None:
    run(tmp_path / "job", seed)


if __name__ == "__main__":
    for number in range(int(sys.argv[1])):
        for each in RUNS:
            with tempfile.TemporaryDirectory(prefix="scurry-interleaved-") as place:
                each(Path(place) / "job", number)
        print(number, "ok", flush=True)
