"""Kill drivers whose checkpoint is in an object store or in HDFS, again and again, and compare what
the job leaves behind with a computation in plain Python:
``python -m tests.faults.object_soak --kills 20 --on s3`` or ``--on hdfs``.

S3, and the NameNode and the DataNode of HDFS, are reached through proxies that disturb one
connection in eight.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from tests.faults.hdfs import data_node, hdfs_options, hdfs_server
from tests.faults.job import FileSink, expected
from tests.faults.process import Driver
from tests.faults.s3 import BUCKET, Proxy, options, s3_server

from scurry.checkpoint.directory import JobDirectory
from scurry.common.object_store import StoreSettings
from scurry.common.options.execution import LIVE, MICRO_BATCH


@dataclass(frozen=True)
class Outcome:
    """What came of a job that was killed."""

    kills: int
    checkpoints: int
    lost: int
    duplicated: int


class Life:
    """One job with its checkpoint at ``location``, led by one driver after the other."""

    def __init__(
        self, root: Path, location: str, store: dict[str, str], engine: str = LIVE
    ) -> None:
        self.root = root
        self.engine = engine
        self.kills = 0
        self._location, self._store = location, store
        for name in ("first", "second", "faults"):
            (root / name).mkdir()

    def start(self) -> Driver:
        """A driver for the job."""
        store = json.dumps(self._store)
        return Driver(
            *(self.root, "tests.faults.object_driver"),
            *(str(self.root), self._location, store, self.engine),
        )

    def started(self) -> Driver:
        """A driver that has begun to work."""
        driver = self.start()
        self.reach(driver, lambda: driver.batch >= 0)
        return driver

    def reach(self, driver: Driver, condition: Callable[[], bool]) -> None:
        """Wait until the job has got so far."""
        if not driver.wait_until(condition):
            driver.end()
            raise AssertionError((self.root / "driver.log").read_text()[-3000:])

    def kill_after(self, checkpoints: int, pause: float = 0.0) -> None:
        """Start a driver, and kill it when it has made so many checkpoints, ``pause`` seconds
        later."""
        driver = self.started()
        first = driver.batch
        self.reach(driver, lambda: driver.batch >= first + checkpoints)
        time.sleep(pause)
        self.kill(driver)

    def kill(self, driver: Driver) -> None:
        """Kill a driver."""
        os.killpg(driver.process.pid, signal.SIGKILL)
        driver.end()
        self.kills += 1

    def finish(self, driver: Driver) -> None:
        """Let the job come to its end."""
        (self.root / "stop").touch()
        self.reach(driver, lambda: driver.finished)
        driver.end()

    def outcome(self, settings: StoreSettings) -> Outcome:
        """Compare."""
        epoch = JobDirectory(self._location, settings).last_epoch()
        assert epoch is not None
        first, second, _ = expected(epoch.positions["numbers"])
        lost = duplicated = 0
        for name, wanted in (("first", first), ("second", second)):
            found = Counter(map(repr, FileSink(self.root / name).results()))
            due = Counter(map(repr, wanted))
            lost += (due - found).total()
            duplicated += (found - due).total()
        return Outcome(self.kills, epoch.batch + 1, lost, duplicated)


def main() -> None:
    """Soak."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--minutes", type=float, default=0, help="kill no more after so many")
    parser.add_argument("--on", choices=("s3", "hdfs"), default="s3")
    parser.add_argument(
        "--engine", choices=(MICRO_BATCH, LIVE), help="by default now one, now the other"
    )
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    asked = parser.parse_args()
    chance, console = random.Random(asked.seed), Console()
    console.print(f"seed {asked.seed}")
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if asked.on == "s3":
            direct = stack.enter_context(s3_server())
            proxies = [Proxy(direct, asked.seed, one_in=8)]
            location, store = f"s3://{BUCKET}/jobs/one", options(proxies[0].port)
        else:
            address = stack.enter_context(hdfs_server(root))
            nodes = address, data_node(address)
            proxies = [Proxy(int(node.rpartition(":")[2]), asked.seed, one_in=8) for node in nodes]
            names, data = (f"127.0.0.1:{proxy.port}" for proxy in proxies)
            location = f"webhdfs://{names}/jobs/one"
            store = {**hdfs_options(), "data_proxy": json.dumps({nodes[1]: data})}
        life = Life(root, location, store)
        chosen = [asked.engine] if asked.engine else [MICRO_BATCH, LIVE]
        ends = time.monotonic() + 60 * asked.minutes if asked.minutes else math.inf
        while life.kills < asked.kills and time.monotonic() < ends:
            life.engine = chance.choice(chosen)
            life.kill_after(chance.randint(1, 4), chance.random() / 2)
            console.print(f"kill {life.kills} of {asked.kills}")
        life.finish(life.start())
        for proxy in proxies:
            proxy.one_in = 0
        found = life.outcome(StoreSettings(store))
    console.print(
        f"kills={found.kills} checkpoints={found.checkpoints} lost={found.lost} "
        f"duplicated={found.duplicated} disturbed={'+'.join(str(one.disturbed) for one in proxies)}"
    )
    sys.exit(bool(found.lost or found.duplicated))


if __name__ == "__main__":
    main()
