"""The short form of the fault suite: one job, some drivers' lives, a kill of each family."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.faults.soak import Round, Tally, plan
from tests.faults.strikes import ARSENALS

from scurry.common.fault_points import (
    DRIVER_POINTS,
    LEASE_POINTS,
    ONE_WRITER_POINTS,
    ROUND_POINTS,
    SINK_POINTS,
    TICKET_POINTS,
    VARIABLE,
    WORKER_POINTS,
)
from scurry.common.options.execution import LIVE, MICRO_BATCH

LIVES = [
    (
        "local[2,4]",
        ["worker process", "store corrupted", "worker rebuild", "driver"],
    ),
    ("local-cluster[2,1,1024]", ["executor", "driver after-sinks"]),
]
#: several drivers at once
SLEEPERS = [("local[2,4]", ["second driver", "jvm", "pause after-sinks"])]
#: the live engine
LIVE_LIVES = [("local[2]", ["worker process", "second driver", "store truncated", "driver"])]
LIVE_PAUSE = [("local[2]", ["worker compaction", "pause before-epoch"])]


@pytest.mark.cluster
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("engine", "lives"),
    [
        pytest.param(MICRO_BATCH, LIVES, id="kills"),
        pytest.param(MICRO_BATCH, SLEEPERS, id="pauses"),
        pytest.param(LIVE, LIVE_LIVES + LIVE_PAUSE, id="live"),
    ],
)
def test_nothing_is_lost_or_doubled(
    tmp_path: Path, engine: str, lives: list[tuple[str, list[str]]]
) -> None:
    tally = Tally()
    Round(tmp_path / "round", random.Random(7), tally, engine).run(lives, lambda kind: None)
    assert tally.line == (
        f"kills={sum(len(kinds) for _, kinds in lives)} lost=0 duplicated=0 state_mismatches=0"
    )


@pytest.mark.parametrize("engine", ARSENALS)
def test_every_kind_has_its_turn(engine: str) -> None:
    arsenal = ARSENALS[engine]
    ending = {*arsenal.fatal, *arsenal.pauses}
    lives = [life for lives in plan(100, random.Random(1), arsenal) for life in lives]
    kinds = [kind for _, kinds in lives for kind in kinds]
    assert len(kinds) == 100
    assert set(kinds) == set(arsenal.all)
    for master, strikes in lives:
        assert strikes[-1] in ending
        assert not {*strikes[:-1]} & ending
        assert "cluster" in master or not {*strikes} & {*arsenal.cluster}


def test_every_point_is_somewhere_in_the_engine() -> None:
    source = Path(__file__).parents[2] / "src" / "scurry"
    code = "".join(file.read_text() for file in source.rglob("*.py"))
    kafka = (*TICKET_POINTS, *ONE_WRITER_POINTS)
    driver = (*DRIVER_POINTS, *ROUND_POINTS, *LEASE_POINTS, *SINK_POINTS)
    for point in (*driver, *WORKER_POINTS, *kafka):
        assert code.count(f'fault_point("{point}")') == 1, point


SCRIPT = """
from scurry.common.fault_points import fault_point
fault_point("elsewhere")
fault_point("here")
print("survived")
"""


def test_an_armed_point_kills_the_first_that_reaches_it(tmp_path: Path) -> None:
    (tmp_path / "here").write_text("SIGKILL")
    environment = {VARIABLE: str(tmp_path), "PYTHONPATH": "src"}
    outcomes = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=environment,
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=False,
        )
        for _ in range(2)
    ]
    assert outcomes[0].returncode == -signal.SIGKILL
    assert outcomes[1].stdout == "survived\n"
    assert int((tmp_path / "here.struck").read_text()) > 0
