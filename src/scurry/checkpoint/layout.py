"""Where things are in a job's directory: every path in it is made here.

::

    root/job.json            the manifest: what the checkpoint is, and its generations
    root/spark/              Spark's own checkpoint: offsets, commits, state
    root/plans/000000012/0   what task 0 of micro-batch 12 reads (one JSON line)
    root/plans/000000012/_after.json   where the sources stand after it
    root/epochs/12.json      where the job stands after micro-batch 12
    root/runs/1-0/           the large tables of slot 0 of stage 1
    root/log/1-0/            large entries of its log, to which Spark's state refers
    root/waiting/            notes of workers that wait for a server

A job that is restarted with another parallelism gets a new *generation*, with plans, epochs and
state of its own. The first one is the directory itself, the others lie in it::

    root/generation-1/spark, plans, epochs, runs, log, waiting
    root/generation-1/state/2/0/   what slot 0 of stage 2 begins with

What a slot's own directories hold is the business of the modules that write it: runs of
:mod:`scurry.state.runs.files`, entries of :mod:`scurry.checkpoint.log_files`, state to begin with
of :mod:`scurry.checkpoint.initial_state`. They are handed the directory.

A file appears whole or not at all: it is written under the name that :func:`draft_of` gives, and
renamed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_GENERATION = "generation-"
_DRAFT = ".draft"


def draft_of(path: Path, author: str = "") -> Path:
    """Where the file ``path`` is written before it is complete; several who may write it at the
    same time each give a name of their own as ``author``."""
    return path.with_name(f"{path.name}{author and '.'}{author}{_DRAFT}")


def is_draft(name: str) -> bool:
    """Whether a file of that name is not complete."""
    return name.endswith(_DRAFT)


@dataclass(frozen=True)
class Home:
    """The directory of one generation."""

    path: Path

    @property
    def spark(self) -> Path:
        """Where Spark keeps its own checkpoint."""
        return self.path / "spark"

    def spark_commit(self, number: int) -> Path:
        """The file that shows that Spark has committed its micro-batch ``number``."""
        return self.spark_commits / str(number)

    @property
    def spark_commits(self) -> Path:
        """Where those files are."""
        return self.spark / "commits"

    @property
    def plans(self) -> Path:
        """Where the plans of micro-batches are."""
        return self.path / "plans"

    def plan(self, batch: int) -> Path:
        """The directory of the plan of micro-batch ``batch``."""
        return self.plans / f"{batch:09d}"

    def plan_draft(self, batch: int) -> Path:
        """The same before it is complete."""
        return self.path / f"draft-{batch}"

    @property
    def plan_drafts(self) -> tuple[Path, ...]:
        """What drivers that died have left of plans."""
        return tuple(self.path.glob("draft-*"))

    @staticmethod
    def share(plan: Path, task: int) -> Path:
        """What one task reads, in the directory of a plan or of its draft."""
        return plan / str(task)

    @staticmethod
    def after(plan: Path) -> Path:
        """Where the sources stand after it, in the directory of a plan or of its draft."""
        return plan / "_after.json"

    @property
    def epochs(self) -> Path:
        """Where the epochs are."""
        return self.path / "epochs"

    def epoch(self, batch: int) -> Path:
        """The epoch after micro-batch ``batch``."""
        return self.epochs / f"{batch}.json"

    def runs(self, stage: int, slot: int) -> Path:
        """The directory of the runs of a slot: its large tables."""
        return self._runs / f"{stage}-{slot}"

    @property
    def _runs(self) -> Path:
        return self.path / "runs"

    def log(self, stage: int, slot: int) -> Path:
        """The directory of the large entries of a slot's log."""
        return self._log / f"{stage}-{slot}"

    @property
    def _log(self) -> Path:
        return self.path / "log"

    @property
    def initial_state(self) -> Path:
        """Where the state lies that slots begin with, if this is not the first generation."""
        return self.path / "state"

    def initial_state_of(self, stage: int, slot: int) -> Path:
        """The directory of what one slot begins with."""
        return self.initial_state / str(stage) / str(slot)

    @property
    def waiting(self) -> Path:
        """Where workers leave notes while they wait for a server."""
        return self.path / "waiting"

    @property
    def needed(self) -> tuple[Path, ...]:
        """The directories that have to be there before the first micro-batch."""
        return self.plans, self.epochs

    @property
    def parts(self) -> tuple[Path, ...]:
        """All directories of the generation."""
        own = (self._runs, self._log, self.initial_state, self.waiting)
        return self.spark, self.plans, self.epochs, *own


@dataclass(frozen=True)
class Layout:
    """The directory of a job."""

    root: Path

    @property
    def manifest(self) -> Path:
        """What the checkpoint is, and which generation is in force."""
        return self.root / "job.json"

    def home(self, generation: int) -> Home:
        """The directory of a generation, by its number."""
        return Home(self.root / f"{_GENERATION}{generation}" if generation else self.root)

    def homes(self) -> Iterator[Home]:
        """The directories of all generations that have left something here, but the first."""
        return (Home(place) for place in self.root.glob(f"{_GENERATION}*"))
