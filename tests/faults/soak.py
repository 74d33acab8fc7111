"""Kill a job at random, again and again, and compare what it leaves behind with a computation in
plain Python: ``python -m tests.faults.soak --kills 100 --engine live``.

The kills are dealt out over *rounds*. A round is one job from its first record to its last, run by
one driver after the other; a driver lives until a strike ends it, or is paused by one, and woken
while the next one runs. At the end of a round the output
of both sinks and the state in the checkpoint must be exactly what :func:`tests.faults.job.expected`
says.
"""

from __future__ import annotations

import argparse
import pickle
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, cycle, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psutil
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from tests.faults.job import FileSink, expected
from tests.faults.process import PATIENCE_SECONDS, Driver
from tests.faults.sleepers import Sleepers
from tests.faults.strikes import ARSENALS, Arsenal, Target

from scurry.checkpoint.directory import JobDirectory
from scurry.common.options.execution import LIVE, MICRO_BATCH

MASTERS = ("local[2]", "local[2,4]", "local-cluster[2,1,1024]")
KILLS_PER_ROUND = 25
#: strikes of which one ends the driver's life
LIFE = 5
#: how long tasks may outlive their driver
ORPHAN_SECONDS = 5.0


@dataclass
class Tally:
    """What came of it."""

    kills: Counter[str] = field(default_factory=Counter)
    batches: int = 0
    restarts: int = 0
    lost: int = 0
    duplicated: int = 0
    mismatches: int = 0
    #: by kind: the longest time until a job that had survived a strike made progress again
    silence: dict[str, float] = field(default_factory=dict)
    #: the longest time for which tasks of the live engine have outlived their driver
    orphaned: float = 0.0

    def took(self, kind: str, seconds: float) -> None:
        """The job went on ``seconds`` after a strike."""
        self.silence[kind] = max(self.silence.get(kind, 0.0), seconds)

    @property
    def line(self) -> str:
        return (
            f"kills={self.kills.total()} lost={self.lost} duplicated={self.duplicated} "
            f"state_mismatches={self.mismatches}"
        )

    @property
    def clean(self) -> bool:
        return not (self.lost or self.duplicated or self.mismatches)


class Round:
    """One job, from the first record to the last."""

    def __init__(
        self, root: Path, rng: random.Random, tally: Tally, engine: str = MICRO_BATCH
    ) -> None:
        self.root = root
        self.rng = rng
        self.tally = tally
        self.engine = engine
        self.arsenal = ARSENALS[engine]
        self.sleepers = Sleepers(root)
        for part in ("first", "second", "faults", "local"):
            (root / part).mkdir(parents=True)

    def run(self, lives: list[tuple[str, list[str]]], on_kill: Callable[[str], None]) -> None:
        """Lead through ``lives``, masters and kinds of strikes, then to the end, and compare."""
        try:
            for master, kinds in lives:
                self._live(master, kinds, on_kill)
            (self.root / "stop").touch()
            driver = self.sleepers.start(lambda: self._driver(lives[-1][0]))
            ended = driver.wait_until(lambda: driver.finished)
            self._count(driver)
            self.tally.restarts += self.sleepers.wake()
        finally:
            self.sleepers.end()
        if not ended:
            tail = (self.root / "driver.log").read_text(errors="replace")[-4000:]
            raise SystemExit(f"The job did not come to its end.\n{tail}")
        self._compare()

    def _driver(self, master: str) -> Driver:
        return Driver(self.root, "tests.faults.driver", str(self.root), master, self.engine)

    def _live(self, master: str, kinds: list[str], on_kill: Callable[[str], None]) -> None:
        """One driver's life."""
        driver = self.sleepers.start(lambda: self._driver(master))
        try:
            for kind in kinds:
                if not self._strike(driver, master, kind, on_kill):
                    break
                if kind in self.arsenal.pauses and self._struck:
                    self.sleepers.add(driver)
                    return
        except BaseException:
            driver.end()
            raise
        self._count(driver)

    def _count(self, driver: Driver) -> None:
        driver.end()
        self.tally.restarts += driver.restarts

    def _strike(
        self, driver: Driver, master: str, kind: str, on_kill: Callable[[str], None]
    ) -> bool:
        """One strike, once the job has got going again; whether the driver is still alive."""
        self._struck = False
        reached = driver.batch + self.rng.randint(1, 3)
        if not driver.wait_until(lambda: driver.batch >= reached):
            if driver.alive:
                raise SystemExit(f"No progress for {PATIENCE_SECONDS} s before the strike {kind!r}")
            return False
        if self.rng.random() < 0.7:
            # otherwise they sleep on, perhaps through the next driver's life
            self.tally.restarts += self.sleepers.wake()
        target = Target(
            *(driver.process.pid, self.root, self.rng, lambda: driver.batch),
            *(lambda: driver.alive, lambda: self._driver(master)),
        )
        before, tasks = driver.batch, target.workers()
        self._struck = self.arsenal.all[kind](target)
        if self._struck:
            self.tally.kills[kind] += 1
            on_kill(kind)
            if kind in self.arsenal.fatal:
                driver.wait_until(lambda: False)
                self._await_end_of(tasks)
            elif kind not in self.arsenal.pauses:
                self._await_progress(driver, kind, max(before, driver.batch))
        return driver.alive

    def _await_end_of(self, tasks: list[psutil.Process]) -> None:
        """The driver is dead: in the live engine, nothing of it must be left after a moment."""
        if self.engine == LIVE:
            began = time.monotonic()
            _, left = psutil.wait_procs(tasks, timeout=ORPHAN_SECONDS)
            if left:
                raise SystemExit(f"{len(left)} tasks have outlived their driver.")
            self.tally.orphaned = max(self.tally.orphaned, time.monotonic() - began)

    def _await_progress(self, driver: Driver, kind: str, before: int) -> None:
        began = time.monotonic()
        # what was committed before the strike may be told after it
        if driver.wait_until(lambda: driver.batch >= before + 2):
            self.tally.took(kind, time.monotonic() - began)

    def _compare(self) -> None:
        epoch = JobDirectory(str(self.root / "checkpoint")).last_epoch()
        assert epoch is not None
        first, second, states = expected(epoch.positions["numbers"])
        for name, wanted in (("first", first), ("second", second)):
            found = Counter(map(repr, FileSink(self.root / name).results()))
            due = Counter(map(repr, wanted))
            self.tally.lost += (due - found).total()
            self.tally.duplicated += (found - due).total()
        held = pickle.loads((self.root / "state.pickle").read_bytes())
        self.tally.mismatches += differences(states, held)
        self.tally.batches += epoch.batch + 1


def differences(wanted: dict[str, Any], found: dict[str, Any]) -> int:
    """How many values of all states are not what they should be."""
    wrong = 0
    for uid, state in ((uid, state) for uid, states in wanted.items() for state in states):
        due, held = wanted[uid][state], found[uid].get(state, {})
        wrong += sum(due.get(key) != held.get(key) for key in due.keys() | held.keys())
    return wrong


def plan(
    kills: int, rng: random.Random, arsenal: Arsenal = ARSENALS[MICRO_BATCH]
) -> Iterator[list[tuple[str, list[str]]]]:
    """The rounds: for each its lives, a master and the strikes one driver has to take.

    Every kind gets its turn before any gets a second one.
    """
    decks = {**arsenal.fatal, **arsenal.pauses}, arsenal.survived, arsenal.cluster
    fatal, survived, cluster = (dealt(rng, kinds) for kinds in decks)
    masters = cycle(MASTERS)
    while kills > 0:
        lives: list[tuple[str, list[str]]] = []
        share = min(kills, KILLS_PER_ROUND)
        kills -= share
        while share > 0:
            size = min(share, LIFE)
            share -= size
            master = next(masters)
            own = 2 if "cluster" in master and size > 2 else 0
            mild = [*islice(cluster, own), *islice(survived, size - 1 - own)]
            rng.shuffle(mild)
            lives.append((master, [*mild, next(fatal)]))
        yield lives


def dealt(rng: random.Random, kinds: dict[str, Any]) -> Iterator[str]:
    """Kinds without end, each once before any comes again."""
    decks = (rng.sample(list(kinds), len(kinds)) for _ in iter(int, 1))
    return chain.from_iterable(decks)


def soak(kills: int, seed: int, root: Path, on_kill: Callable[[str], None], engine: str) -> Tally:
    """Strike ``kills`` times; raises SystemExit if a job cannot go on."""
    rng = random.Random(seed)
    tally = Tally()
    number = 0
    while (left := kills - tally.kills.total()) > 0:
        for lives in plan(left, rng, ARSENALS[engine]):
            Round(root / str(number), rng, tally, engine).run(lives, on_kill)
            number += 1
            if not tally.clean:
                return tally
    return tally


def show_kills(
    console: Console, kills: Counter[str], silence: Mapping[str, float] = MappingProxyType({})
) -> None:
    """How often there was which kind, and how long the job was silent after it at most."""
    table = Table("strike", "times", "silent for up to", title="Kills by kind")
    for kind, times in sorted(kills.items()):
        table.add_row(kind, str(times), f"{silence[kind]:.1f} s" if kind in silence else "")
    console.print(table)


def main() -> None:
    """The console command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    parser.add_argument("--engine", choices=list(ARSENALS), default=MICRO_BATCH)
    options = parser.parse_args()
    console = Console()
    root = Path(tempfile.mkdtemp(prefix="scurry-soak-"))
    began = time.monotonic()
    console.print(f"seed {options.seed}, files in {root}")
    with Progress(console=console) as progress:
        bar = progress.add_task("kills", total=options.kills)

        def on_kill(kind: str) -> None:
            progress.update(bar, advance=1, description=kind)
            if not console.is_terminal:
                console.print(f"{(time.monotonic() - began) / 60:5.1f} min  {kind}")

        tally = soak(options.kills, options.seed, root, on_kill, options.engine)
    show_kills(console, tally.kills, tally.silence)
    minutes = (time.monotonic() - began) / 60
    console.print(
        f"{tally.batches} micro-batches, {tally.restarts} restarts within a driver, "
        f"{minutes:.1f} minutes"
    )
    if options.engine == LIVE:
        console.print(f"tasks have outlived their driver by up to {tally.orphaned:.1f} s")
    if tally.clean:
        shutil.rmtree(root, ignore_errors=True)
    print(tally.line)
    sys.exit(0 if tally.clean else 1)


if __name__ == "__main__":
    main()
