"""Another parallelism for a job that runs.

Somebody asks: a thread of the program, another process by a file
(:mod:`scurry.engine.request_files`), or the job itself, which watches its backlog. At the next
boundary of micro-batches the run ends, everything of it is committed, and the job starts the next
run by itself with the other parallelism. It goes through its own checkpoint, as it would if it were
stopped and started again, so results are the same. The time from the boundary until the next run
can plan a micro-batch is the *downtime*.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from scurry.common.configuration import Configuration
from scurry.common.errors import ConfigurationError, JobError
from scurry.common.options import rescaling as options
from scurry.engine.progress import Progress
from scurry.functions.source import LAG

_log = logging.getLogger("scurry.engine")
#: A backlog that is this share of the target is small: fewer slots may do.
_SMALL = 0.25


@dataclass(frozen=True)
class Bounds:
    """When a job changes its parallelism by itself, and how far."""

    least: int
    most: int
    #: seconds that the backlog may take at the present rate
    target: float
    #: seconds between two changes
    cool_down: float

    @classmethod
    def of(cls, configuration: Configuration) -> Bounds | None:
        """What the configuration says, None if the job is to stay as it is."""
        if not options.BY_BACKLOG.read(configuration):
            return None
        least, most = options.LEAST.read(configuration), options.MOST.read(configuration)
        if least > most:
            raise ConfigurationError(
                f"{options.LEAST.key} is {least}, which is more than {options.MOST.key}, {most}."
            )
        target, pause = options.TARGET.read(configuration), options.COOL_DOWN.read(configuration)
        return cls(least, most, target / 1000, pause / 1000)


class BacklogWatch:
    """Says which parallelism a job should have, by what its sources have left to read."""

    def __init__(self, bounds: Bounds, clock: Callable[[], float] = time.monotonic) -> None:
        self._bounds = bounds
        self._clock = clock
        self._changed = clock()

    def choice(self, parallelism: int, waiting: int, read: int, seconds: float) -> int | None:
        """The parallelism to change to, None to stay; called after a micro-batch that read ``read``
        records in ``seconds`` and left ``waiting``. The job gets as many slots as would have kept
        the backlog within the target, twice as many at most; and half as many if even these would
        keep it far below the target."""
        bounds, now = self._bounds, self._clock()
        if now - self._changed < bounds.cool_down or seconds <= 0 or not read:
            return None
        backlog = waiting * seconds / read
        chosen = parallelism
        if backlog > bounds.target:
            chosen = min(2 * parallelism, -int(-parallelism * backlog // bounds.target))
        elif 2 * backlog < _SMALL * bounds.target and seconds < _SMALL * bounds.target:
            chosen = (parallelism + 1) // 2
        chosen = min(bounds.most, max(bounds.least, chosen))
        if chosen == parallelism:
            return None
        self._changed = now
        return chosen


@dataclass
class _Asked:
    parallelism: int
    answer: Future[str]
    began: float = 0.0
    #: whether the job has begun a run with that parallelism
    taken_up: bool = False


class Rescaling:
    """The changes of parallelism that one job is asked for."""

    def __init__(self, halt: Callable[[], None], most: int, watch: BacklogWatch | None) -> None:
        """``halt`` has the run under way end; ``most`` is the number of key groups."""
        self._halt = halt
        self._most = most
        self._watch = watch
        self._lock = threading.Lock()
        self._asked: _Asked | None = None
        self._ended = False

    def ask(self, parallelism: int) -> Future[str]:
        """Ask for another parallelism; the answer says how long the job stood still."""
        if not 1 <= parallelism <= self._most:
            raise JobError(
                f"A parallelism of {parallelism} is not possible: it is from 1 to {self._most}, "
                "the number of key groups of the job (set_max_parallelism)."
            )
        with self._lock:
            if self._ended:
                raise JobError("The job has ended, so it cannot be given another parallelism.")
            if self._asked is not None:
                raise JobError(
                    f"The job is just changing to a parallelism of {self._asked.parallelism}. Ask "
                    "again when it has."
                )
            self._asked = _Asked(parallelism, Future())
            return self._asked.answer

    def look(self, progress: Progress, parallelism: int) -> None:
        """A micro-batch is finished: ask for another parallelism if the backlog says so."""
        if self._watch is None or self._asked is not None or self._ended:
            return
        waiting = sum(n for name, n in progress.gauges.items() if name.startswith(f"{LAG}:"))
        read = sum(n for name, n in progress.last.items() if name.startswith("read:"))
        chosen = self._watch.choice(parallelism, waiting, read, progress.last_seconds)
        if chosen is not None:
            _log.info(
                "%d records wait: the parallelism is changed from %d to %d",
                *(waiting, parallelism, chosen),
            )
            self.ask(chosen)

    @property
    def wanted(self) -> bool:
        """Whether a change was asked for, or is under way."""
        return self._asked is not None

    def serve(self) -> None:
        """Nothing is under way: end the run if another parallelism is wanted, or say that the next
        run goes on."""
        with self._lock:
            asked = self._asked
            if asked is None:
                return
            if not asked.began:
                asked.began = time.monotonic()
                self._halt()
            if not asked.taken_up:
                # a run that ends may look here more than once before it is over
                return
            self._asked = None
        took = time.monotonic() - asked.began
        _log.info("the parallelism is %d now; downtime %.1f s", asked.parallelism, took)
        asked.answer.set_result(f"parallelism {asked.parallelism}, downtime {took:.1f} s")

    @property
    def due(self) -> int | None:
        """The parallelism of the next run, if it is another one."""
        asked = self._asked
        return asked.parallelism if asked is not None and asked.began else None

    def take_up(self) -> None:
        """The next run, which has the parallelism that is :attr:`due`, begins."""
        if self._asked is not None:
            self._asked.taken_up = True

    def close(self, failure: BaseException | None) -> None:
        """The job has ended."""
        with self._lock:
            self._ended = True
            asked, self._asked = self._asked, None
        if asked is not None:
            refusal = JobError("The job has ended before it could change its parallelism.")
            refusal.__cause__ = failure
            asked.answer.set_exception(refusal)
