"""Where things are in a job's directory: every path in it is made here.

::

    root/job.json            what the checkpoint is
    root/status.json         how the job is doing, as of the last second
    root/leases/000000007.json   which driver may work with it
    root/driver-7/job.json   the manifest: what the checkpoint is, and its generations
    root/driver-7/spark/     Spark's own checkpoint: offsets, commits, state
    root/driver-7/plans/000000012/0   what task 0 of micro-batch 12 reads (one JSON line)
    root/driver-7/plans/000000012/_after.json   where the sources stand after it
    root/driver-7/epochs/12.json      where the job stands after micro-batch 12
    root/driver-7/epochs/12.promises  what sinks prepared in it, until they have committed it
    root/driver-7/pledges/last       what sinks will commit of the last micro-batch
    root/runs/1-0/           the large tables of slot 0 of stage 1
    root/log/1-0/            large entries of its log, to which Spark's state refers
    root/feeds/              changes of queryable states, on their way to the driver
    root/waiting/            notes of workers that wait for a server
    root/rooms/uid/          what a source or sink keeps here for itself
    root/stored-rooms/uid/   the same in an object store
    root/requests/           what other processes ask of the job, such as a savepoint
    root/frozen/             savepoints on their way to another file system
    root/driver-7/instances/<run>/    who has instances of the functions of a run
    root/driver-7/logs/<run>/         log records of workers, on their way to the driver

Each driver has a directory of its own for all that is written again under the same names, called
after the epoch of its lease. It begins with what the previous driver has left
(:mod:`scurry.checkpoint.takeover`), so a driver that was taken for dead and goes on writes where
nobody looks any more. What the drivers share are files that are never changed and have random
names. In checkpoints from before there were leases, and without a lease in tests, the parts of a
driver's directory lie where the directory is.

A job that is restarted with another parallelism gets a new *generation*, with plans, epochs and
state of its own. The first one is the directory itself, the others lie in it::

    root/generation-8/driver-8/spark, plans, epochs, instances, logs
    root/generation-8/runs, log, feeds, waiting
    root/generation-8/state/2/0/   what slot 0 of stage 2 begins with

A savepoint (:mod:`scurry.checkpoint.savepoints`) is a directory of the same shape, with one
generation and without leases, drivers and status, and with a manifest of its own::

    root/savepoint.json      what the savepoint is, and the checksums of all its files

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
from urllib.parse import quote

from scurry.common.any_paths import AnyPath, here

_GENERATION = "generation-"
_DRIVER = "driver-"
_DRAFT = ".draft"
#: What sources and sinks keep in an object store, in another form than on a file system.
STORED_ROOMS = "stored-rooms"


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

    path: AnyPath
    #: the epoch of the lease of the driver whose files are meant; 0 for those from before leases
    driver: int = 0

    @property
    def own(self) -> AnyPath:
        """The directory of the driver's files."""
        return _driver(self.path, self.driver) if self.driver else self.path

    @property
    def spark(self) -> AnyPath:
        """Where Spark keeps its own checkpoint."""
        return self.own / "spark"

    def spark_commit(self, number: int) -> AnyPath:
        """The file that shows that Spark has committed its micro-batch ``number``."""
        return self.spark_commits / str(number)

    @property
    def spark_commits(self) -> AnyPath:
        """Where those files are."""
        return self.spark / "commits"

    @property
    def plans(self) -> AnyPath:
        """Where the plans of micro-batches are."""
        return self.own / "plans"

    def plan(self, batch: int) -> AnyPath:
        """The directory of the plan of micro-batch ``batch``."""
        return self.plans / f"{batch:09d}"

    def plan_draft(self, batch: int) -> AnyPath:
        """The directory of that plan before the plan is complete."""
        return self.own / f"draft-{batch}"

    @property
    def plan_drafts(self) -> tuple[AnyPath, ...]:
        """What drivers that died have left of plans."""
        return tuple(self.path.glob("draft-*"))

    @staticmethod
    def share(plan: AnyPath, task: int) -> AnyPath:
        """What one task reads, in the directory of a plan or of its draft."""
        return plan / str(task)

    @staticmethod
    def after(plan: AnyPath) -> AnyPath:
        """Where the sources stand after it, in the directory of a plan or of its draft."""
        return plan / "_after.json"

    @property
    def epochs(self) -> AnyPath:
        """Where the epochs are."""
        return self.own / "epochs"

    def epoch(self, batch: int) -> AnyPath:
        """The epoch after micro-batch ``batch``."""
        return self.epochs / f"{batch}.json"

    def promises(self, batch: int) -> AnyPath:
        """What sinks have prepared in micro-batch ``batch`` and have not committed yet."""
        return self.epochs / f"{batch}.promises"

    def runs(self, stage: int, slot: int) -> AnyPath:
        """The directory of the runs of a slot: its large tables."""
        return self.all_runs / f"{stage}-{slot}"

    @property
    def all_runs(self) -> AnyPath:
        """Where the runs of all slots are."""
        return self.path / "runs"

    def log(self, stage: int, slot: int) -> AnyPath:
        """The directory of the large entries of a slot's log."""
        return self.logs_of_slots / f"{stage}-{slot}"

    @property
    def logs_of_slots(self) -> AnyPath:
        """Where the large entries of all logs are."""
        return self.path / "log"

    @property
    def initial_state(self) -> AnyPath:
        """Where the state lies that slots begin with, if this is not the first generation."""
        return self.path / "state"

    def initial_state_of(self, stage: int, slot: int) -> AnyPath:
        """The directory of what one slot begins with."""
        return self.initial_state / str(stage) / str(slot)

    @property
    def waiting(self) -> Path:
        """Where workers leave notes while they wait for a server."""
        return here(self.path) / "waiting"

    @property
    def feeds(self) -> Path | None:
        """Where slots leave large changes of queryable states for the driver; None in an object
        store, where they send them."""
        return self.path / "feeds" if isinstance(self.path, Path) else None

    @property
    def instances(self) -> Path:
        """Where processes note which instances of functions they have."""
        return here(self.own) / "instances"

    @property
    def logs(self) -> Path:
        """Where workers write log records for the driver."""
        return here(self.own) / "logs"

    @property
    def needed(self) -> tuple[AnyPath, ...]:
        """The directories that have to be there before the first micro-batch."""
        return self.plans, self.epochs

    @property
    def parts(self) -> tuple[AnyPath, ...]:
        """All directories of the generation, but those of drivers with a lease."""
        found = (
            *self.of_driver,
            self.all_runs,
            self.logs_of_slots,
            self.initial_state,
            self.feeds,
            self.waiting,
        )
        return tuple(part for part in found if part is not None)

    @property
    def of_driver(self) -> tuple[AnyPath, ...]:
        """The directories of the driver's files."""
        return self.spark, self.plans, self.epochs, self.instances, self.logs

    def drivers(self) -> Iterator[Home]:
        """The same generation as all drivers with a lease have it that have left something."""
        return (Home(self.path, number) for number in _numbered(self.path, _DRIVER))


@dataclass(frozen=True)
class Layout:
    """The directory of a job."""

    root: AnyPath

    @property
    def leases(self) -> AnyPath:
        """Who works with the checkpoint, and who did."""
        return self.root / "leases"

    @property
    def manifest(self) -> AnyPath:
        """What the checkpoint is."""
        return self.root / "job.json"

    @property
    def status(self) -> Path:
        """How the job that works here is doing; written by it every second."""
        return here(self.root) / "status.json"

    @property
    def rooms(self) -> Path:
        """What sources and sinks keep in the checkpoint, whatever the generation."""
        return here(self.root) / "rooms"

    @property
    def stored_rooms(self) -> AnyPath:
        """The same of those that can keep it in an object store, if the checkpoint is in one."""
        return self.rooms if isinstance(self.root, Path) else self.root / STORED_ROOMS

    def room(self, uid: str, anywhere: bool = False) -> AnyPath:
        """What one source or sink keeps there; ``anywhere`` says whether that can be in an object
        store."""
        return (self.stored_rooms if anywhere else self.rooms) / quote(uid, safe="")

    @property
    def requests(self) -> Path:
        """What other processes ask of the job that works here, and its answers."""
        return here(self.root) / "requests"

    @property
    def frozen(self) -> Path:
        """Savepoints on their way to another file system."""
        return here(self.root) / "frozen"

    @property
    def savepoint(self) -> AnyPath:
        """What a savepoint says of itself; checkpoints have no such file."""
        return self.root / "savepoint.json"

    def manifest_of(self, driver: int) -> AnyPath:
        """The manifest as one driver has it: what the checkpoint is, and which generation is in
        force. A driver writes this file last when it takes a checkpoint over, so where the file
        exists, all that the driver has taken over does."""
        return _driver(self.root, driver) / "job.json" if driver else self.manifest

    def pledges(self, driver: int) -> AnyPath:
        """The directory of what sinks have promised to commit, as one driver has it."""
        return (_driver(self.root, driver) if driver else self.root) / "pledges"

    @staticmethod
    def pledge(pledges: AnyPath) -> AnyPath:
        """The last pledge, in such a directory."""
        return pledges / "last"

    def sealed_pledges(self, driver: int) -> AnyPath:
        """The same directory from the moment on at which another driver has taken over."""
        return self.pledges(driver).with_name("pledges-sealed")

    def drivers(self) -> list[int]:
        """The epochs of the leases of all drivers that have taken the checkpoint over, in order."""
        numbers = _numbered(self.root, _DRIVER)
        return sorted(number for number in numbers if self.manifest_of(number).exists())

    def home(self, generation: int, driver: int = 0) -> Home:
        """The directory of a generation, by its number, as a driver has it."""
        place = self.root / f"{_GENERATION}{generation}" if generation else self.root
        return Home(place, driver)

    def generations(self) -> list[int]:
        """The numbers of all generations that have left something here, but the first."""
        return sorted(_numbered(self.root, _GENERATION))


def _driver(path: AnyPath, number: int) -> AnyPath:
    return path / f"{_DRIVER}{number}"


def _numbered(path: AnyPath, prefix: str) -> Iterator[int]:
    names = (place.name.removeprefix(prefix) for place in path.glob(f"{prefix}*"))
    return (int(name) for name in names if name.isdigit())
