"""What the live engine says about jobs of very many tasks."""

from __future__ import annotations

import pytest

from scurry.engine.live.limits import MANY_TASKS, tell_of_many_tasks


def test_a_job_of_too_many_tasks_is_told_what_it_costs(caplog: pytest.LogCaptureFixture) -> None:
    tell_of_many_tasks(MANY_TASKS)
    assert not caplog.records
    tell_of_many_tasks(200)
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    text = record.getMessage()
    assert "The job has 200 tasks" in text
    assert "made for 64 at most" in text
    assert "execution.live.linger to 20 ms" in text
    assert "env.set_parallelism" in text
    assert "execution.engine: micro-batch" in text
