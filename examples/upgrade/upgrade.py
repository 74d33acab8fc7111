"""The life of a job: a first version, an upgrade, more slots, and back to the first version.

    python examples/upgrade/upgrade.py

Orders arrive in three parts. Version 1 runs on the first part and is stopped with a savepoint.
Version 2 goes on from that savepoint with the second part: it has an operator more, and a field
more in its state. It is stopped, and goes on with three slots instead of one. In the end version 1
is started from its own savepoint once more, as one does when an upgrade was a mistake. After each
step all output so far is compared with what the orders alone say.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import version_1
import version_2
from rich.console import Console

from scurry.common import Configuration
from scurry.common.job_status import JobStatus
from scurry.datastream import StreamExecutionEnvironment

Order = tuple[str, int]
Build = Callable[[StreamExecutionEnvironment, Path, Path], None]
HERE = Path(__file__).parent
CUSTOMERS = [f"customer-{number}" for number in range(40)]
PART = 300
console = Console(highlight=False)


class Shop:
    """The directories of the example, and the orders that have arrived."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.input = root / "orders"
        self.input.mkdir()
        self.orders: list[Order] = []
        self._random = random.Random(7)

    def open(self) -> None:
        """Have another part of the orders arrive."""
        part = [
            (self._random.choice(CUSTOMERS), self._random.randrange(1, 900)) for _ in range(PART)
        ]
        self.orders += part
        draft = self.root / "draft"
        draft.write_text("".join(f"{customer},{cents}\n" for customer, cents in part))
        draft.rename(self.input / f"part-{len(self.orders)}.csv")

    def run(
        self, build: Build, name: str, orders: int, savepoint: str | None = None, slots: int = 1
    ) -> tuple[str, Path]:
        """Run a program until its output has so many orders in all, and stop it with a savepoint;
        the savepoint and the output."""
        output = self.root / name.partition(" ")[0]
        conf = Configuration.of({"execution.checkpointing.dir": str(self.root / f"ck {name}")})
        env = StreamExecutionEnvironment.get_execution_environment(conf).set_parallelism(slots)
        if savepoint is not None:
            env.from_savepoint(savepoint)
        build(env, self.input, output)
        began = time.monotonic()
        job = env.execute_async("shop")
        while len(lines_below(output)) < orders:
            if job.get_job_status().result() is not JobStatus.RUNNING:
                job.get_job_execution_result().result()
            time.sleep(0.05)
        made = job.stop_with_savepoint(False, str(self.root / "savepoints")).result()
        job.get_job_execution_result().result()
        console.print(f"  ran with parallelism {slots} for {time.monotonic() - began:.1f} s")
        return made, output


def lines_below(directory: Path) -> list[str]:
    """The lines of all files that readers can see."""
    files = [file for file in directory.glob("[!._]*") if file.is_file()]
    return [line for file in files for line in file.read_text().splitlines()]


def totals(orders: list[Order]) -> dict[str, tuple[int, int, int]]:
    """What the orders alone say: of each customer how many there are, for how many cents, and how
    many the largest has."""
    found: dict[str, list[int]] = defaultdict(list)
    for customer, cents in orders:
        found[customer].append(cents)
    return {name: (len(of), sum(of), max(of)) for name, of in found.items()}


def check(what: str, found: object, expected: object) -> None:
    """Compare, and tell."""
    if found != expected:
        raise SystemExit(f"{what}: WRONG\n  found    {found}\n  expected {expected}")
    console.print(f"  {what}: [green]as the orders say[/]")


def check_output(lines: list[str], before: list[Order], since: list[Order]) -> None:
    """Each order since the output began must be in it once, and the last line of each customer must
    have the customer's totals over the whole history."""
    rows = sorted((name, int(n), int(cents)) for name, n, cents, *_ in map(str.split, lines))
    counted = totals(before)
    whole = totals([*before, *since])
    news = [
        (name, number)
        for name, (orders, _, _) in whole.items()
        for number in range(counted.get(name, (0, 0, 0))[0] + 1, orders + 1)
    ]
    check("every order once", [row[:2] for row in rows], sorted(news))
    last = {name: (n, cents) for name, n, cents in rows}
    check("totals of all time", last, {name: whole[name][:2] for name in last})


def main(root: Path) -> None:
    shop = Shop(root)
    console.print("[bold]version 1[/], on the first part of the orders")
    shop.open()
    first, output = shop.run(version_1.build, "version-1", PART)
    check_output(lines_below(output), [], shop.orders)
    history = list(shop.orders)

    console.print("[bold]scurry diff[/] says what version 2 makes of the savepoint")
    command = [sys.executable, "-m", "scurry.cli.main", "diff", "--parallelism", "1", first]
    told = subprocess.run([*command, HERE / "version_2.py", shop.input, root / "unused"])
    check("nothing would be dropped", told.returncode, 0)

    console.print("[bold]version 2[/], from the savepoint of version 1")
    shop.open()
    second, output = shop.run(version_2.build, "version-2", PART, first)
    check_output(lines_below(output), history, shop.orders[PART:])

    console.print("[bold]version 2 with three slots[/], from its own savepoint")
    shop.open()
    _, output = shop.run(version_2.build, "version-2 rescaled", 2 * PART, second, slots=3)
    since = shop.orders[PART:]
    check_output(lines_below(output), history, since)
    largest: dict[str, int] = {}
    for line in lines_below(output):
        name, _, _, cents = line.split()
        largest[name] = max(largest.get(name, 0), int(cents))
    check("largest since the upgrade", largest, {n: of[2] for n, of in totals(since).items()})
    good = sorted(lines_below(output.with_name(f"{output.name}-good")))
    seen = {name for name, _ in since}
    spent = {name: cents for name, (_, cents, _) in totals(shop.orders).items()}
    check("good customers", good, sorted(n for n in seen if spent[n] >= version_2.GOOD))

    console.print("[bold]back to version 1[/], from its own savepoint")
    _, output = shop.run(version_1.build, "rollback", 2 * PART, first)
    check_output(lines_below(output), history, since)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        main(Path(directory))
    console.print("[bold green]all results are right[/]")
