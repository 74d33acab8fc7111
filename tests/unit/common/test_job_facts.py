"""Identity, status, result and restart rules of jobs."""

from __future__ import annotations

import pickle
from concurrent.futures import Future
from datetime import timedelta

import pytest

from scurry.common import (
    CompletableFuture,
    InputDependencyConstraint,
    JobExecutionResult,
    JobID,
    JobStatus,
    RestartStrategies,
    RestartStrategyConfiguration,
)
from scurry.common.errors import ConfigurationError


def test_job_ids() -> None:
    one, other = JobID(), JobID()
    assert one != other
    assert JobID(str(one)) == one == pickle.loads(pickle.dumps(one))
    assert len(str(one)) == 32
    assert len({one, JobID(str(one)), other}) == 2
    assert repr(JobID("0" * 32)) == f"JobID('{'0' * 32}')"
    with pytest.raises(ConfigurationError, match="32 hexadecimal digits in lower case, got 'x'"):
        JobID("x")


def test_status() -> None:
    final = {status for status in JobStatus if status.is_globally_terminal_state()}
    assert final == {JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED}
    ended = {status for status in JobStatus if status.is_terminal_state()}
    assert ended == final | {JobStatus.SUSPENDED}


def test_results() -> None:
    job_id = JobID()
    result = JobExecutionResult(job_id, 1500, {"events": 3})
    assert (result.get_job_id(), result.get_net_runtime()) == (job_id, 1500)
    assert result.get_accumulator_result("events") == 3
    assert result.get_accumulator_result("other") is None
    assert result.get_all_accumulator_results() == {"events": 3}
    assert str(result) == f"Job {job_id} ended after 1500 ms"


def test_futures() -> None:
    source: Future[int] = Future()
    future = CompletableFuture(source)
    assert not future.done()
    with pytest.raises(TimeoutError):
        future.result(timeout=0)
    source.set_result(5)
    assert (future.done(), future.result(), future.exception()) == (True, 5, None)
    assert CompletableFuture.completed("x").result() == "x"


def test_futures_fail_and_are_cancelled() -> None:
    failed: Future[int] = Future()
    failed.set_exception(KeyError("k"))
    assert isinstance(CompletableFuture(failed).exception(), KeyError)
    with pytest.raises(KeyError):
        CompletableFuture(failed).result()
    waiting = CompletableFuture[int](Future())
    assert waiting.cancel()
    assert waiting.cancelled()
    assert "cancelled" in repr(waiting)


def test_restart_strategies() -> None:
    fixed = RestartStrategies.fixed_delay_restart(3, 1000)
    assert fixed == RestartStrategies.fixed_delay_restart(3, timedelta(seconds=1))
    assert fixed.get_restart_attempts() == 3
    assert fixed.get_delay_between_attempts_interval() == timedelta(seconds=1)
    assert fixed.get_description() == "up to 3 restarts, 1000 ms after each failure"
    rate = RestartStrategies.failure_rate_restart(2, "1 min", "5 s")
    assert rate.get_max_failure_rate() == 2
    assert rate.get_failure_interval() == timedelta(minutes=1)
    assert rate.get_delay_between_attempts_interval() == timedelta(seconds=5)
    assert (
        rate.get_description() == "restart 5000 ms after each failure, up to 2 failures in 60000 ms"
    )
    none, cluster = RestartStrategies.no_restart(), RestartStrategies.fall_back_restart()
    assert len({none, cluster}) == 2
    assert none.get_description() == "no restart: the first failure ends the job"
    assert cluster.get_description() == "restart as the cluster is set up to"
    for strategy in (fixed, rate, none, cluster):
        assert isinstance(strategy, RestartStrategyConfiguration)
        assert pickle.loads(pickle.dumps(strategy)) == strategy


def test_restart_strategies_refuse_nonsense() -> None:
    with pytest.raises(ConfigurationError, match=r"restart attempts must be .* got -1"):
        RestartStrategies.fixed_delay_restart(-1, 0)
    with pytest.raises(
        ConfigurationError, match="restart attempts must be 0 ms or more, got -5 ms"
    ):
        RestartStrategies.fixed_delay_restart(1, -5)
    with pytest.raises(
        ConfigurationError, match="failure rate must be a whole number from 1 on, got 0"
    ):
        RestartStrategies.failure_rate_restart(0, 1, 1)


def test_constraints() -> None:
    assert [c.name for c in InputDependencyConstraint] == ["ANY", "ALL"]
