"""A job's directory: Spark's checkpoint, the plans of micro-batches, the epochs, large tables.

::

    root/job.json            identity of the checkpoint, fixed key groups, generations
    root/spark/              Spark's own checkpoint: offsets, commits, state
    root/plans/000000012/0   what task 0 of micro-batch 12 reads (one JSON line)
    root/plans/000000012/_after.json   where the sources stand after it
    root/epochs/12.json      where the job stands after micro-batch 12
    root/runs/1-0/           the large tables of slot 0 of stage 1
    root/log/1-0/            large entries of its log, to which Spark's state refers

A plan appears by one rename, whole or not at all, and before its micro-batch is executed; a batch
that is run again finds it and reads the very same records.

Spark fixes the number of slots for the life of its checkpoint, so a job that is restarted with
another parallelism gets a new one. Each is a *generation*, and has plans, epochs and state of its
own::

    root/generation-1/spark, plans, epochs, runs, log
    root/generation-1/state/2/0/   what slot 0 of stage 2 begins with

The generation in force is named in ``job.json``, which is replaced whole: that is the moment of the
switch. The numbers of micro-batches go on rising; each generation knows the number of its first.
The generation before is kept until the new one has committed something.
"""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path

import msgspec

from scurry.checkpoint.claims import Standing
from scurry.checkpoint.epochs import Epoch, decode_epoch
from scurry.common.errors import ConfigurationError, StateError
from scurry.common.state_recovery import WAYS_OUT
from scurry.runtime.ingress import TaskPlan, decode_plan, encode_plan, plan_file
from scurry.runtime.specs import JobSpec

_KEEP = 3
#: The version of all that is in a checkpoint; one of another version is refused.
VERSION = 4
_STAGES_FOLLOW = (
    " The parallelism is another one, too: an operator with a parallelism of its own needs a stage "
    "of its own where its neighbour's differs; start_new_chain() gives it one in any case."
)


class Generation(msgspec.Struct):
    """What is fixed as long as Spark's checkpoint is the same."""

    number: int
    #: the slots of the job
    parallelism: int
    #: the parallelism of operators in stages, and of sources
    operators: dict[str, int] = {}
    sources: dict[str, int] = {}
    #: the number of its first micro-batch
    first: int = 0

    def fits(self, job: JobSpec) -> bool:
        """Whether ``job`` has the parallelism of this generation, in all its parts."""
        known = {**self.operators, **self.sources}
        degrees = {**job.degrees, **_tasks(job)}
        same = all(known.get(uid, degree) == degree for uid, degree in degrees.items())
        return same and self.parallelism == job.parallelism

    def followed_by(self, job: JobSpec, number: int, first: int) -> Generation:
        """The generation of ``job`` that comes after this one. What is known of operators that
        the job does not have is kept: they may come back."""
        return Generation(
            number,
            job.parallelism,
            {**self.operators, **job.degrees},
            {**self.sources, **_tasks(job)},
            first,
        )


class Identity(msgspec.Struct):
    """What is fixed for the life of a checkpoint, and its generations, the one in force last."""

    checkpoint_id: str
    max_parallelism: int
    stages: int
    generations: list[Generation]
    version: int = VERSION


def _tasks(job: JobSpec) -> dict[str, int]:
    return {source.uid: source.tasks for source in job.sources}


class JobDirectory:
    """The files of one job."""

    def __init__(self, location: str) -> None:
        path = location.removeprefix("file://").removeprefix("file:")
        if "://" in path:
            raise ConfigurationError(
                f"The checkpoint directory {location!r} is not on a file system this version of "
                "Scurry can use. Give a local path, or one on a file system that the driver and "
                "all executors have mounted under the same path."
            )
        self.root = Path(path).absolute()
        self._marker = self.root / "job.json"
        self.identity = Identity("", 0, 0, [Generation(0, 0)])
        if self._marker.exists():
            self._read_identity()

    @property
    def generation(self) -> Generation:
        """The generation in force."""
        return self.identity.generations[-1]

    @property
    def home(self) -> Path:
        """The directory of the generation in force."""
        return self.home_of(self.generation)

    def home_of(self, generation: Generation) -> Path:
        """The directory of a generation."""
        number = generation.number
        return self.root / f"generation-{number}" if number else self.root

    @property
    def plans(self) -> Path:
        """Where the plans of micro-batches are."""
        return self.home / "plans"

    @property
    def _epochs(self) -> Path:
        return self.home / "epochs"

    @property
    def spark(self) -> str:
        """Where Spark keeps its own checkpoint."""
        return (self.home / "spark").as_uri()

    @property
    def initial_state(self) -> str:
        """Where the state lies that slots begin with, empty if they begin with none."""
        return str(self.home / "state") if len(self.identity.generations) > 1 else ""

    def _read_identity(self) -> None:
        try:
            self.identity = msgspec.json.decode(self._marker.read_bytes(), type=Identity)
        except (OSError, msgspec.MsgspecError) as failure:
            raise StateError(
                f"{self._marker} cannot be read ({failure}): the checkpoint is damaged, or was "
                "written by another version of Scurry. Put the file back, or start anew with an "
                "empty directory."
            ) from failure
        if self.identity.version != VERSION:
            raise StateError(
                f"The checkpoint in {self.root} has format {self.identity.version}; this version "
                f"of Scurry reads and writes format {VERSION}. Go on with the version of Scurry "
                "that wrote it, or start anew with an empty directory."
            )

    def _write_identity(self) -> None:
        _write(self._marker, msgspec.json.encode(self.identity))

    def standing(self) -> Standing | None:
        """Where the checkpoint stands, None if there is none yet."""
        epoch = self.last_epoch() if self._marker.exists() else None
        last = -1 if epoch is None else epoch.batch
        pending = self.pending_plan(last)
        if pending is not None:
            # what it does not know of states, because they are written by its own micro-batch,
            # is not there either
            epoch = pending[1]
        if epoch is None:
            return None
        return Standing(str(self.root), epoch, last + 1, pending is not None)

    def check(self, job: JobSpec) -> None:
        """Raise :class:`StateError` if what is there does not fit ``job``, not even after it has
        been rescaled."""
        if self._marker.exists():
            self._read_identity()
            self._check(self.identity, job)

    def prepare(self, job: JobSpec) -> Identity:
        """Create the directory, or check that what is there fits ``job``."""
        self.check(job)
        if not self._marker.exists():
            first = Generation(0, job.parallelism, job.degrees, _tasks(job))
            checkpoint_id = uuid.uuid4().hex
            self.identity = Identity(checkpoint_id, job.max_parallelism, len(job.stages), [first])
        for part in (self.plans, self._epochs):
            part.mkdir(parents=True, exist_ok=True)
        if len(self.identity.generations) > 1 and self._last_commit(self.generation) is not None:
            self._settle_in()
        self.sweep()
        if self.generation.fits(job):
            self.identity.generations[-1] = self.generation.followed_by(
                job, self.generation.number, self.generation.first
            )
            self._write_identity()
        return self.identity

    def _check(self, identity: Identity, job: JobSpec) -> None:
        fixed = (
            ("max parallelism", identity.max_parallelism, job.max_parallelism),
            ("number of stages", identity.stages, len(job.stages)),
        )
        for what, before, now in fixed:
            if before != now:
                raise StateError(
                    f"The checkpoint in {self.root} was written with {what} {before}, this job has "
                    f"{now}. Run it with {before} again, or start from an empty directory."
                    + (_STAGES_FOLLOW if self.generation.parallelism != job.parallelism else "")
                )

    def durable(self) -> tuple[Generation, int]:
        """The last generation in which something was committed, and the number of the last
        micro-batch; -1 if nothing was committed ever."""
        for generation in reversed(self.identity.generations):
            last = self._last_commit(generation)
            if last is not None:
                return generation, last
        return self.generation, -1

    def draft(self, job: JobSpec) -> Generation:
        """The generation that ``job`` needs, with an empty directory; not in force yet."""
        _, last = self.durable()
        made = self.generation.followed_by(job, self.generation.number + 1, last + 1)
        home = self.home_of(made)
        shutil.rmtree(home, ignore_errors=True)
        for part in ("plans", "epochs", "state"):
            (home / part).mkdir(parents=True)
        return made

    def switch_to(self, made: Generation) -> None:
        """Put a generation into force, all at once."""
        kept, last = self.durable()
        self.identity.generations = [*([kept] if last >= 0 else []), made]
        self._write_identity()
        self.sweep()

    def sweep(self) -> None:
        """Remove what belongs to generations that are no longer known."""
        homes = {self.home_of(generation) for generation in self.identity.generations}
        for place in self.root.glob("generation-*"):
            if place not in homes:
                shutil.rmtree(place, ignore_errors=True)
        if self.root not in homes:
            for part in ("spark", "plans", "epochs", "runs", "log", "waiting"):
                shutil.rmtree(self.root / part, ignore_errors=True)

    def _settle_in(self) -> None:
        """The generation in force has committed something: nobody goes back to the one before."""
        shutil.rmtree(self.home / "state", ignore_errors=True)
        del self.identity.generations[:-1]
        self._write_identity()
        self.sweep()

    def write_plan(self, batch: int, tasks: list[TaskPlan], after: Epoch) -> None:
        """Write the plan of micro-batch ``batch`` down, all at once."""
        self.write_plan_of(self.generation, batch, tasks, after)

    def write_plan_of(
        self, generation: Generation, batch: int, tasks: list[TaskPlan], after: Epoch
    ) -> None:
        """Write a plan down for a generation that may not be in force yet."""
        home = self.home_of(generation)
        place = plan_file(str(home / "plans"), batch, 0).parent
        draft = home / f"draft-{batch}"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        for task in tasks:
            (draft / str(task.task)).write_bytes(encode_plan(task))
        (draft / "_after.json").write_bytes(msgspec.json.encode(after))
        draft.rename(place)

    def revise_plan(self, batch: int, tasks: list[TaskPlan]) -> None:
        """Replace what tasks read in micro-batch ``batch``, task by task."""
        for task in tasks:
            _write(plan_file(str(self.plans), batch, task.task), encode_plan(task))

    def drop_plans_after(self, batch: int) -> None:
        """Forget plans that cannot have been executed: those beyond the one after ``batch``."""
        for place in self.plans.iterdir():
            if place.name.isdigit() and int(place.name) > batch + 1:
                shutil.rmtree(place)

    def tasks_of_plan(self, batch: int) -> list[TaskPlan]:
        """What the plan of micro-batch ``batch`` says."""
        place = plan_file(str(self.plans), batch, 0).parent
        numbers = sorted(int(name) for name in os.listdir(place) if name.isdigit())
        return [decode_plan((place / str(number)).read_bytes()) for number in numbers]

    def pending_plan(self, after: int) -> tuple[int, Epoch] | None:
        """The plan that was written but not committed before a restart, if there is one."""
        place = self.plans / f"{after + 1:09d}"
        if not place.exists():
            return None
        return after + 1, _read_epoch(place / "_after.json")

    def write_epoch(self, epoch: Epoch) -> None:
        """Remember where the job stands after a micro-batch; those before are committed."""
        self.write_epoch_of(self.generation, epoch)
        if len(self.identity.generations) > 1 and epoch.batch > self.generation.first:
            self._settle_in()
        old = epoch.batch - _KEEP
        (self._epochs / f"{old}.json").unlink(missing_ok=True)
        shutil.rmtree(self.plans / f"{old:09d}", ignore_errors=True)

    def write_epoch_of(self, generation: Generation, epoch: Epoch) -> None:
        """Write an epoch down for a generation that may not be in force yet."""
        place = self.home_of(generation) / "epochs" / f"{epoch.batch}.json"
        _write(place, msgspec.json.encode(epoch))

    def committed(self, batch: int) -> bool:
        """Whether Spark has committed micro-batch ``batch``."""
        first = self.generation.first
        return batch < first or (self.home / "spark" / "commits" / str(batch - first)).exists()

    def _last_commit(self, generation: Generation) -> int | None:
        commits = self.home_of(generation) / "spark" / "commits"
        if not commits.exists():
            return None
        numbers = [int(name) for name in os.listdir(commits) if name.isdigit()]
        return max(numbers) + generation.first if numbers else None

    def last_epoch(self) -> Epoch | None:
        """The epoch of the last micro-batch that Spark committed, None for a new job."""
        last = self._last_commit(self.generation)
        if last is None:
            last = self.generation.first - 1
        if last < 0:
            return None
        place = self._epochs / f"{last}.json"
        if not place.exists():
            raise StateError(
                f"The checkpoint in {self.root} is damaged: Spark committed micro-batch "
                f"{last}, but {place.name} is missing from {place.parent}."
            )
        return _read_epoch(place)

    def delete(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.root, ignore_errors=True)


def _read_epoch(path: Path) -> Epoch:
    try:
        return decode_epoch(path.read_bytes())
    except (OSError, msgspec.MsgspecError) as failure:
        raise StateError(
            f"The checkpoint is damaged: {path} cannot be read ({failure}). Put the file back. "
            f"{WAYS_OUT}"
        ) from failure


def _write(path: Path, content: bytes) -> None:
    draft = path.with_name(path.name + ".draft")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
