"""Run many random programs: ``python -m tests.fuzz.fuzz --programs 10000``.

The programs are dealt out to some processes, each with a seed of its own, which is printed, so that
``--seed`` repeats a run. A program that fails is made smaller, as small as it fails, and printed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from queue import Empty
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.progress import Progress
from tests.fuzz.check import check, check_on_spark
from tests.fuzz.generate import Case, cases, runs
from tests.fuzz.steps import Run

#: Programs that share a Spark job.
ON_SPARK = 4


def fuzz(programs: int, start: int, tell: Callable[[Counter[str]], None]) -> None:
    """Check ``programs`` random programs, each in two runs; AssertionError with the smallest one
    that fails. ``tell`` is given the steps of each."""

    def one(case: Case, run: Run, other: Run) -> None:
        for how in (run, other):
            check(case, how)
        tell(Counter(step.op for step in case.program.steps))

    _hypothesis(programs, start, Phase.generate, Phase.shrink)(given(cases(), runs, runs)(one))()


def fuzz_on_spark(jobs: int, start: int) -> None:
    """Check random programs on Spark, several to a job. What fails is not made smaller."""

    def one(programs: tuple[Case, ...], run: Run) -> None:
        check_on_spark(programs, run)

    modes = st.sampled_from([False, False, False, True])
    some = modes.flatmap(lambda batch: st.tuples(*[cases(batch=batch)] * ON_SPARK))
    _hypothesis(jobs, start, Phase.generate)(given(some, runs)(one))()


def _hypothesis(examples: int, start: int, *phases: Phase) -> Callable[[Any], Any]:
    bounded = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=phases,
    )
    return lambda test: bounded(seed(start)(test))


def _work(programs: int, start: int, told: Any) -> None:
    try:
        fuzz(programs, start, lambda steps: told.put((start, steps)))
    except BaseException:
        told.put((start, traceback.format_exc()))
    finally:
        told.put((start, None))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--spark", type=int, default=5, help="Spark jobs of several programs each")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 30))
    given_ = parser.parse_args()
    console, began = Console(), time.monotonic()
    console.print(f"seed {given_.seed}, {given_.processes} processes")
    told: Any = multiprocessing.Queue()
    share = -(-given_.programs // given_.processes)
    workers = {
        start: multiprocessing.Process(target=_work, args=(share, start, told))
        for start in range(given_.seed, given_.seed + given_.processes)
    }
    for worker in workers.values():
        worker.start()
    failures = _watch(workers, told, share, console)
    if not failures and given_.spark:
        console.print(f"{given_.spark} jobs of {ON_SPARK} programs each on Spark ...")
        fuzz_on_spark(given_.spark, given_.seed)
    console.print(f"failures={len(failures)} seconds={time.monotonic() - began:.0f}")
    for text in failures:
        sys.stdout.write(text)
    return 1 if failures else 0


def _watch(
    workers: dict[int, multiprocessing.Process], told: Any, share: int, console: Console
) -> list[str]:
    """Show how far the workers have come, until all have ended; what went wrong."""
    running, failures = set(workers), []
    done: Counter[int] = Counter()
    steps: Counter[str] = Counter()
    with Progress(console=console) as progress:
        task = progress.add_task("programs", total=share * len(workers))
        while running:
            try:
                start, news = told.get(timeout=5)
            except Empty:
                dead = {start for start in running if not workers[start].is_alive()}
                failures += [f"the process with seed {start} died" for start in dead]
                running -= dead
                continue
            if news is None:
                running.discard(start)
            elif isinstance(news, str):
                failures.append(news)
            else:
                done[start] += 1
                steps.update(news)
                progress.advance(task)
    console.print(f"programs={done.total()} steps: {dict(steps.most_common())}")
    return failures


if __name__ == "__main__":
    sys.exit(main())
