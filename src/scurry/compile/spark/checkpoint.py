"""A job's directory: Spark's checkpoint, the plans of micro-batches, the epochs.

::

    root/job.json            identity of the checkpoint, fixed parallelism and key groups
    root/spark/              Spark's own checkpoint: offsets, commits, state
    root/plans/000000012/0   what task 0 of micro-batch 12 reads (one JSON line)
    root/plans/000000012/_after.json   where the sources stand after it
    root/epochs/12.json      where the job stands after micro-batch 12

A plan appears by one rename, whole or not at all, and before its micro-batch is executed; a batch
that is run again finds it and reads the very same records.
"""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path

import msgspec

from scurry.common.errors import ConfigurationError, StateError
from scurry.compile.planner import Epoch
from scurry.runtime.ingress import TaskPlan, encode_plan, plan_file
from scurry.runtime.specs import JobSpec

_KEEP = 3


class Identity(msgspec.Struct):
    """What is fixed for the life of a checkpoint."""

    checkpoint_id: str
    parallelism: int
    max_parallelism: int
    stages: int
    version: int = 2


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
        self.plans = self.root / "plans"
        self._epochs = self.root / "epochs"

    @property
    def spark(self) -> str:
        """Where Spark keeps its own checkpoint."""
        return (self.root / "spark").as_uri()

    def prepare(self, job: JobSpec) -> Identity:
        """Create the directory, or check that what is there fits ``job``."""
        for part in (self.plans, self._epochs):
            part.mkdir(parents=True, exist_ok=True)
        marker = self.root / "job.json"
        if not marker.exists():
            identity = Identity(
                uuid.uuid4().hex, job.parallelism, job.max_parallelism, len(job.stages)
            )
            _write(marker, msgspec.json.encode(identity))
            return identity
        identity = msgspec.json.decode(marker.read_bytes(), type=Identity)
        self._check(identity, job)
        return identity

    def _check(self, identity: Identity, job: JobSpec) -> None:
        fixed = (
            ("parallelism", identity.parallelism, job.parallelism),
            ("max parallelism", identity.max_parallelism, job.max_parallelism),
            ("number of stages", identity.stages, len(job.stages)),
        )
        for what, before, now in fixed:
            if before != now:
                raise StateError(
                    f"The checkpoint in {self.root} was written with {what} {before}, this job has "
                    f"{now}. Run it with {before} again, or start from an empty directory."
                )

    def write_plan(self, batch: int, tasks: list[TaskPlan], after: Epoch) -> None:
        """Write the plan of micro-batch ``batch`` down, all at once."""
        place = plan_file(str(self.plans), batch, 0).parent
        draft = self.root / f"draft-{batch}"
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        for task in tasks:
            (draft / str(task.task)).write_bytes(encode_plan(task))
        (draft / "_after.json").write_bytes(msgspec.json.encode(after))
        draft.rename(place)

    def drop_plans_after(self, batch: int) -> None:
        """Forget plans that cannot have been executed: those beyond the one after ``batch``."""
        for place in self.plans.iterdir():
            if place.name.isdigit() and int(place.name) > batch + 1:
                shutil.rmtree(place)

    def pending_plan(self, after: int) -> tuple[int, Epoch] | None:
        """The plan that was written but not committed before a restart, if there is one."""
        place = self.plans / f"{after + 1:09d}"
        if not place.exists():
            return None
        return after + 1, _read_epoch(place / "_after.json")

    def write_epoch(self, epoch: Epoch) -> None:
        """Remember where the job stands after a micro-batch."""
        _write(self._epochs / f"{epoch.batch}.json", msgspec.json.encode(epoch))
        old = epoch.batch - _KEEP
        (self._epochs / f"{old}.json").unlink(missing_ok=True)
        shutil.rmtree(self.plans / f"{old:09d}", ignore_errors=True)

    def committed(self, batch: int) -> bool:
        """Whether Spark has committed micro-batch ``batch``."""
        return (self.root / "spark" / "commits" / str(batch)).exists()

    def last_epoch(self) -> Epoch | None:
        """The epoch of the last micro-batch that Spark committed, None for a new job."""
        commits = self.root / "spark" / "commits"
        if not commits.exists():
            return None
        numbers = [int(name) for name in os.listdir(commits) if name.isdigit()]
        if not numbers:
            return None
        place = self._epochs / f"{max(numbers)}.json"
        if not place.exists():
            raise StateError(
                f"The checkpoint in {self.root} is damaged: Spark committed micro-batch "
                f"{max(numbers)}, but {place.name} is missing from {place.parent}."
            )
        return _read_epoch(place)

    def delete(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.root, ignore_errors=True)


def _read_epoch(path: Path) -> Epoch:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Epoch)
    except (OSError, msgspec.MsgspecError) as failure:
        raise StateError(
            f"The checkpoint is damaged: {path} cannot be read ({failure}). Put the file back, "
            "start from a savepoint, or start anew with an empty directory."
        ) from failure


def _write(path: Path, content: bytes) -> None:
    draft = path.with_name(path.name + ".draft")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
