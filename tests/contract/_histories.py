"""What every sink must do when a job goes on from an older copy of its checkpoint.

A target is a place to write the numbers from 0 on to. The scenarios run a job on it, go back to a
copy of its checkpoint that was made on the way, and look at what the target holds in the end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from scurry.common import Configuration
from scurry.common.errors import OtherHistoryError
from scurry.compile.job import CompiledJob
from scurry.datastream import StreamExecutionEnvironment
from scurry.functions.sink import Sink
from scurry.testing.local import LocalJob

TOTAL = 40
ALL = Counter(range(TOTAL))


class Target(ABC):
    """A place that sinks write to."""

    #: whether it can take back what was committed
    truncates = True
    #: whether records that are written twice are there once
    idempotent = False

    @abstractmethod
    def sink(self) -> Sink:
        """A sink as a new process makes it."""

    @staticmethod
    def convert(number: int) -> Any:
        """The record that stands for a number."""
        return number

    @abstractmethod
    def numbers(self) -> Iterable[int]:
        """The numbers that readers of the target see."""

    def holds(self, expected: Counter[int]) -> bool:
        """Whether readers see that, each number as often as ``expected`` says."""
        found = Counter(self.numbers())
        return found == (Counter(set(expected)) if self.idempotent else expected)


class Runs:
    """The runs of one job, which writes to a target."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.sinks: list[Sink] = []
        self.job = LocalJob(self._compile("refuse"))

    def _compile(self, choice: str) -> CompiledJob:
        conf = Configuration.of({"scurry.sink.on-other-history": choice})
        env = StreamExecutionEnvironment.get_execution_environment(conf).set_parallelism(2)
        self.sinks.append(self.target.sink())
        numbers = env.from_collection(list(range(TOTAL))).uid("numbers")
        numbers.map(self.target.convert).sink_to(self.sinks[-1]).uid("out")
        return env._compile(None)

    def steps(self, count: int, size: int = 4) -> None:
        for _ in range(count):
            assert self.job.step(size)

    def finish(self, size: int = 4) -> None:
        while self.job.step(size):
            pass
        self.job.close()

    def close(self) -> None:
        """Let go of everything, also of what runs that were killed had opened."""
        self.job.close()
        for sink in self.sinks:
            sink.close()

    def go_back(self, copy: Any, choice: str, stop: bool = True) -> None:
        """Restart as a new process does; without ``stop`` the one before was killed."""
        if stop:
            self.sinks[-1].close()
        self.job.go_back(copy, self._compile(choice))


class HistoryContract:
    """The scenarios; a subclass has a fixture ``target``."""

    @pytest.fixture
    def runs(self, target: Target) -> Iterator[Runs]:
        runs = Runs(target)
        yield runs
        runs.close()

    @pytest.mark.parametrize("stop", [True, False], ids=["stopped", "killed"])
    def test_an_older_copy_is_refused(self, runs: Runs, target: Target, stop: bool) -> None:
        runs.steps(2)
        copy = runs.job.copy_checkpoint()
        runs.steps(3)
        with pytest.raises(OtherHistoryError) as caught:
            runs.go_back(copy, "refuse", stop)
        text = str(caught.value)
        assert "uid 'out'" in text
        assert f"{__file__}:" in text
        assert "The last one is number 4" in text
        assert "the local checkpoint stands at number 1" in text
        assert "'append' leaves" in text
        assert ("'truncate' takes back" in text) == target.truncates
        runs.sinks[-1].close()
        if stop:
            assert target.holds(Counter(range(20)))

    @pytest.mark.parametrize("stop", [True, False], ids=["stopped", "killed"])
    def test_what_is_beyond_the_copy_is_taken_back(
        self, runs: Runs, target: Target, stop: bool
    ) -> None:
        runs.steps(2)
        copy = runs.job.copy_checkpoint()
        runs.steps(4)
        if not target.truncates:
            with pytest.raises(OtherHistoryError, match="'truncate' was chosen, but cannot be"):
                runs.go_back(copy, "truncate", stop)
            return
        runs.go_back(copy, "truncate", stop)
        runs.steps(2, size=5)
        # a restart on the new history is nothing special
        runs.go_back(runs.job.copy_checkpoint(), "refuse", stop)
        runs.finish(size=7)
        assert target.holds(ALL)

    @pytest.mark.parametrize("stop", [True, False], ids=["stopped", "killed"])
    def test_what_is_beyond_may_stay(self, runs: Runs, target: Target, stop: bool) -> None:
        runs.steps(2)
        copy = runs.job.copy_checkpoint()
        runs.steps(4)
        runs.go_back(copy, "append", stop)
        runs.steps(2, size=5)
        runs.go_back(runs.job.copy_checkpoint(), "refuse", stop)
        runs.finish(size=7)
        assert target.holds(ALL + Counter(range(8, 24)))

    @pytest.mark.parametrize("stop", [True, False], ids=["stopped", "killed"])
    @pytest.mark.parametrize("choice", ["truncate", "append"])
    def test_a_planned_batch_of_the_copy_is_a_repetition(
        self, runs: Runs, target: Target, choice: str, stop: bool
    ) -> None:
        runs.steps(2)
        assert runs.job.plan_step(4)
        copy = runs.job.copy_checkpoint()
        runs.steps(1)
        # with that batch and no other, it is a crash right after the commit
        runs.go_back(copy, "refuse", stop)
        runs.steps(2)
        with pytest.raises(OtherHistoryError, match="The last one is number 3"):
            runs.go_back(copy, "refuse", stop)
        if choice == "append" or target.truncates:
            runs.go_back(copy, choice, stop)
            runs.finish(size=7)
            # the branch of number 3 is not known to the copy, so with 'append' the sink cannot
            # tell whether number 2 was committed in it
            assert target.holds(ALL if choice == "truncate" else ALL + Counter(range(8, 16)))

    def test_a_history_that_fell_behind_is_recognised(self, runs: Runs, target: Target) -> None:
        """Numbers alone do not show it: the sink has fewer batches than the checkpoint."""
        runs.steps(2)
        old = runs.job.copy_checkpoint()
        runs.steps(5)
        new = runs.job.copy_checkpoint()
        runs.go_back(old, "append")
        runs.steps(1, size=5)
        with pytest.raises(OtherHistoryError, match=r"number 2.* stands at number 6"):
            runs.go_back(new, "refuse")

    def test_a_copy_from_before_the_first_batch(self, runs: Runs, target: Target) -> None:
        copy = runs.job.copy_checkpoint()
        runs.steps(2)
        with pytest.raises(OtherHistoryError, match="its beginning, before any micro-batch"):
            runs.go_back(copy, "refuse")
        runs.go_back(copy, "truncate" if target.truncates else "append")
        runs.finish(size=7)
        assert target.holds(ALL if target.truncates else ALL + Counter(range(8)))

    def test_another_job_may_write_to_the_same_target(self, runs: Runs, target: Target) -> None:
        runs.finish()
        Runs(target).finish(size=7)
        assert target.holds(ALL + ALL)

    def test_going_back_twice(self, runs: Runs, target: Target) -> None:
        """What was taken back, or was let stay, is not taken back again."""
        runs.steps(2)
        first = runs.job.copy_checkpoint()
        runs.steps(3)
        runs.go_back(first, "append")
        runs.steps(1, size=5)
        second = runs.job.copy_checkpoint()
        runs.steps(2)
        if not target.truncates:
            return
        runs.go_back(second, "truncate")
        runs.finish(size=7)
        assert target.holds(ALL + Counter(range(8, 20)))
