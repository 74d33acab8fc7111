"""The live engine on two machines: the network between its tasks is cut for a while."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faults.driver import HOST
from tests.faults.machines import Machines, can_be_made, machines
from tests.faults.process import Driver
from tests.faults.soak import Round, Tally
from tests.faults.standalone import standalone_cluster

from scurry.common.options.execution import LIVE

#: shorter and longer than the time after which a silent connection counts as lost
SHORT_SECONDS, LONG_SECONDS = 4.0, 35.0


@pytest.fixture(scope="module")
def two() -> Iterator[Machines]:
    if not can_be_made():
        pytest.skip("network namespaces, which stand for machines, need the rights of root")
    with machines(2) as made:
        yield made


class OnTwoMachines(Round):
    """A job whose two tasks are on machines of their own."""

    machines: Machines

    def _driver(self, master: str) -> Driver:
        given = str(self.root), master, self.engine
        variables = {HOST: self.machines.host}
        return Driver(self.root, "tests.faults.driver", *given, variables=variables)

    def run_through_cuts(self, master: str, seconds: list[float]) -> list[int]:
        """Cut the network for so long, again and again, then end the job and compare; how often it
        had begun anew after each."""
        driver, restarts = self._driver(master), []
        try:
            for each in seconds:
                self._progress(driver)
                self.machines.cut()
                time.sleep(each)
                self.machines.mend()
                self._progress(driver)
                restarts.append(driver.restarts)
            (self.root / "stop").touch()
            assert driver.wait_until(lambda: driver.finished), "the job ends"
        finally:
            self.machines.mend()
            driver.end()
        self._compare()
        return restarts

    def _progress(self, driver: Driver) -> None:
        reached = driver.batch + 3
        assert driver.wait_until(lambda: driver.batch >= reached), "the job goes on"


@pytest.mark.cluster
@pytest.mark.timeout(280)
def test_a_network_that_is_cut_between_tasks_costs_nothing(tmp_path: Path, two: Machines) -> None:
    tally = Tally()
    made = OnTwoMachines(tmp_path / "job", random.Random(7), tally, LIVE)
    made.machines = two
    with standalone_cluster(tmp_path / "cluster", two) as master:
        short, long = made.run_through_cuts(master, [SHORT_SECONDS, LONG_SECONDS])
    assert tally.line == "kills=0 lost=0 duplicated=0 state_mismatches=0"
    assert short == 0, "what is not lost for long is sent again"
    assert long > 0, "a machine that cannot be reached counts as gone"
