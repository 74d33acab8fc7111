"""What the time of a micro-batch went into."""

from __future__ import annotations

from typing import Any

import pytest

from scurry.engine import progress as module
from scurry.engine.progress import Progress, StopWatch
from scurry.runtime.task_context import TaskReport


def test_laps_follow_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 11.0, 13.0, 16.0, 20.0])
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(clock))
    watch = StopWatch()
    watch.lap("engine")
    watch.lap("commit a", "commit")
    watch.lap("commit b", "commit")
    assert watch.take() == {"engine": 1.0, "commit a": 2.0, "commit b": 3.0, "commit": 5.0}
    watch.lap("engine")
    assert watch.take() == {"engine": 4.0}


def report_of(**times: float) -> dict[str, Any]:
    report = TaskReport()
    for name, seconds in times.items():
        report.spent(name.replace("_", " "), seconds / 2)
        report.spent(name.replace("_", " "), seconds / 2)
    found = report.take(1)
    assert report.take(1)["times"] == {}
    return found


def test_the_longest_task_counts_and_the_rest_is_sparks() -> None:
    progress = Progress()
    reports = [
        report_of(ingress=1.0, read=0.5),
        report_of(ingress=2.0, read=0.25),
        report_of(stage_1=3.0, state_1=1.0),
        report_of(stage_1=0.5, state_1=0.25),
    ]
    progress.take(0, reports, 8.0, {"execute": 7.0, "commit": 1.0})
    assert progress.phases == {
        "execute": 7.0,
        "commit": 1.0,
        "ingress": 2.0,
        "read": 0.5,
        "stage 1": 3.0,
        "state 1": 1.0,
        "spark": 2.0,
    }
