"""Run a job for hours, and see whether memory, files and open descriptors stay as they are:
``python -m tests.faults.soak_hours --hours 1 --engine live``.

The job is that of :mod:`tests.faults.job`, whose state has a bounded size, with a checkpoint every
150 ms and nobody who hurts it. A quarter of the time counts as warming up. The least that there was
in the last quarter is compared with the least that there was in the second: runs pile up until they
are merged, and copies of tasks come and go, but what leaks stays.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import psutil
from rich.console import Console
from tests.faults.process import Driver

from scurry.common.options.execution import LIVE, MICRO_BATCH

#: how much more there may be at the end, as a share, and as an absolute number
MORE, FEW = 1.10, 20
#: samples that are taken over the whole time
SAMPLES = 120


@dataclass(frozen=True)
class Sample:
    """What there is at one moment."""

    driver_mb: int
    workers_mb: int
    jvm_mb: int
    descriptors: int
    threads: int
    checkpoint_files: int
    local_files: int


def take(driver: Driver, root: Path) -> Sample:
    """What there is now; files that sinks have written are deleted."""
    main = psutil.Process(driver.process.pid)
    tree = [main, *main.children(recursive=True)]
    memory = {"driver": 0, "jvm": 0, "workers": 0}
    descriptors = threads = 0
    for process in tree:
        try:
            kind = "driver" if process == main else "jvm"
            kind = "workers" if kind == "jvm" and "java" not in process.name() else kind
            memory[kind] += process.memory_full_info().uss
            descriptors += process.num_fds()
            threads += process.num_threads()
        except psutil.NoSuchProcess:
            continue
    for sink in ("first", "second"):
        old = sorted((root / sink).glob("*.json"), key=lambda path: int(path.stem))[:-10]
        for path in old:
            path.unlink()
    found = [_files(root / part) for part in ("checkpoint", "local")]
    megabytes = (memory[kind] >> 20 for kind in ("driver", "workers", "jvm"))
    return Sample(*megabytes, descriptors, threads, *found)


def _files(place: Path) -> int:
    return sum(1 for path in place.rglob("*") if path.is_file())


def grown(samples: list[Sample]) -> dict[str, tuple[float, float]]:
    """What there is more of at the end than there should be: before and after."""
    quarter = max(1, len(samples) // 4)
    early, late = samples[quarter : 2 * quarter], samples[-quarter:]
    found = {}
    for number, each in enumerate(fields(Sample)):
        before, after = (min(astuple(sample)[number] for sample in some) for some in (early, late))
        if after > before * MORE + FEW:
            found[each.name] = before, after
    return found


def watch(root: Path, engine: str, seconds: float, show: Callable[[Sample], None]) -> list[Sample]:
    """Run the job for so long."""
    for part in ("first", "second", "faults", "local"):
        (root / part).mkdir(parents=True)
    driver = Driver(root, "tests.faults.driver", str(root), "local[2]", engine)
    samples: list[Sample] = []
    try:
        driver.wait_until(lambda: driver.batch >= 10)
        while len(samples) < SAMPLES:
            time.sleep(seconds / SAMPLES)
            if not driver.alive:
                raise SystemExit(f"The job has ended; see {root / 'driver.log'}")
            samples.append(take(driver, root))
            show(samples[-1])
        if driver.restarts:
            raise SystemExit(f"The job has begun anew {driver.restarts} times.")
    finally:
        driver.end()
    return samples


def main() -> None:
    """The console command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--engine", choices=(MICRO_BATCH, LIVE), default=LIVE)
    options = parser.parse_args()
    console = Console(highlight=False)
    root = Path(tempfile.mkdtemp(prefix="scurry-hours-"))
    console.print(f"files in {root}\n{', '.join(each.name for each in fields(Sample))}")
    began = time.monotonic()

    def show(sample: Sample) -> None:
        minutes = (time.monotonic() - began) / 60
        console.print(f"{minutes:6.1f} min  {', '.join(map(str, astuple(sample)))}")

    found = grown(watch(root, options.engine, options.hours * 3600, show))
    for name, (before, after) in found.items():
        console.print(f"{name} has grown from {before:,.0f} to {after:,.0f}")
    print(f"hours={options.hours:g} grown={len(found)}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
