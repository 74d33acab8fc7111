"""A job's directory: the plans of micro-batches, the epochs, and the generations of both.

Where things are in it, :mod:`scurry.checkpoint.layout` says. A plan appears by one rename, whole or
not at all, and before its micro-batch is executed; a batch that is run again finds it and reads the
very same records.

Each driver has a directory of its own for plans, epochs and Spark's checkpoint, and works with it
under a lease (:mod:`scurry.checkpoint.lease`). It begins with what the previous driver has left
(:mod:`scurry.checkpoint.takeover`). So no file that a driver writes is ever written, moved or
deleted by one that came before it.

Spark fixes the number of slots for the life of its checkpoint, so a job that is restarted with
another parallelism gets a new one. Each is a *generation*, and has plans, epochs and state of its
own. The generation in force is named in the manifest, which is replaced whole: that is the moment
of the switch. The numbers of micro-batches go on rising; each generation knows the number of its
first. The generation before is kept until the new one has committed something. A generation has
the number of the driver that made it.
"""

from __future__ import annotations

import getpass
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from scurry.checkpoint.claims import Standing, moved
from scurry.checkpoint.epochs import Epoch, decode_epoch
from scurry.checkpoint.layout import Home, Layout
from scurry.checkpoint.lease import Holder, Lease, claim, holder_of
from scurry.checkpoint.ledger import Pledge, Promises, standing_of
from scurry.checkpoint.manifest import (
    Generation,
    Manifest,
    ManifestFile,
    check_writer,
    this_writer,
)
from scurry.checkpoint.restore import restore
from scurry.checkpoint.takeover import take_over, take_over_pledges
from scurry.common.advice import WAYS_OUT
from scurry.common.any_paths import (
    AnyPath,
    Draft,
    ObjectPath,
    here,
    names_in,
    path_of,
    remove_files,
    remove_tree,
    write_whole,
)
from scurry.common.disks import sync_file_system
from scurry.common.errors import ConfigurationError, StateError, cause_to_show
from scurry.common.new_files import NumberedDirectory
from scurry.common.object_store import StoreSettings
from scurry.common.options.checkpoints import LEASE_DURATION
from scurry.common.options.execution import LIVE
from scurry.common.own_directories import check_owner, own_directory, user_root
from scurry.runtime.ingress import TaskPlan, decode_plan, encode_plan
from scurry.runtime.specs import JobSpec

_KEEP = 3


class JobDirectory:
    """The files of one job."""

    def __init__(self, location: str, store: StoreSettings | None = None) -> None:
        """``location`` is a path, or a URL of an object store, which is reached as ``store``
        says."""
        self.layout = Layout(path_of(location, store))
        #: how the object store of a URL is reached
        self.store = store
        #: whether files are synced to disk before a commit counts
        self.synced = False
        #: an epoch that is on its way to the disk
        self._draft: Draft | None = None
        #: the epoch of the lease under which this process writes, 0 without one
        self._driver = 0
        #: the driver whose files are taken over, and its last plan when they were
        self._source: int | None = None
        self._cut = -1
        self._taken_over = False
        self._read()

    def _read(self) -> None:
        self._file = ManifestFile(self.layout.manifest_of(max(self.layout.drivers(), default=0)))
        self.manifest = Manifest("", 0, 0, [Generation(0, 0)])
        if self._file.exists():
            self.manifest = self._file.read()

    def claim(self, job: str, duration: int = LEASE_DURATION.default) -> Lease:
        """Become the one driver that may work with the checkpoint, as ``job``; raises
        :class:`~scurry.common.errors.LeaseHeldError` if there is another one."""
        above = max(self.layout.generations(), default=0)
        place = f"The checkpoint in {self.root}"
        with self._usable():
            self._own()
            lease = claim(NumberedDirectory(self.layout.leases), place, job, duration, above)
        self._driver = lease.epoch
        self._source, self._taken_over = None, False
        self._read()
        return lease

    def begin_with(self, savepoint: str) -> bool:
        """Begin with a savepoint, unless that has been done before, which this tells by False; see
        :mod:`scurry.checkpoint.restore`. Called by the holder of the lease."""
        with self._usable():
            restored = restore(savepoint, self.root, self.store)
        self._read()
        return restored

    def holder(self) -> tuple[int, Holder] | None:
        """Who holds the lease of the checkpoint, or held it last, and its epoch; None if there was
        no lease yet."""
        return holder_of(NumberedDirectory(self.layout.leases))

    @property
    def root(self) -> AnyPath:
        """The directory itself."""
        return self.layout.root

    @property
    def generation(self) -> Generation:
        """The generation in force."""
        return self.manifest.generations[-1]

    @property
    def home(self) -> Home:
        """The directory of the generation in force."""
        return self.home_of(self.generation)

    def home_of(self, generation: Generation) -> Home:
        """The directory of a generation, as the driver has it whose files of it count."""
        return self.layout.home(generation.number, generation.driver)

    @property
    def begins_with_state(self) -> bool:
        """Whether slots begin with state that the generation before has left them."""
        return len(self.manifest.generations) > 1

    def standing(self) -> Standing | None:
        """Where the checkpoint stands, None if there is none yet."""
        return standing_of(self, str(self.root)) if self._file.exists() else None

    def check(self) -> None:
        """Raise :class:`StateError` if what is there may be misread here."""
        if self._file.exists():
            self.manifest = self._file.read()
            check_writer(self.root, self.manifest)

    def prepare(self, job: JobSpec) -> Manifest:
        """Create the directory, or check that what is there fits ``job``."""
        with self._usable():
            return self._prepare(job)

    @contextmanager
    def _usable(self) -> Iterator[None]:
        """Say what is wrong with the directory if it cannot be written to."""
        try:
            yield
        except OSError as failure:
            raise ConfigurationError(
                f"The checkpoint directory {str(self.root)!r} (execution.checkpointing.dir) cannot "
                f"be used: {failure.strerror or failure} ({failure.filename}). Give one that "
                f"{getpass.getuser()!r} may write to, on a file system with room on it."
            ) from cause_to_show(failure)

    def _prepare(self, job: JobSpec) -> Manifest:
        self._own()
        self.check()
        if not self._file.exists():
            self._create(job)
        if self._driver and not self._taken_over:
            self.take_over()
        self.manifest.writer, self.manifest.name = this_writer(), job.name
        for part in self.home.needed:
            part.mkdir(parents=True, exist_ok=True)
        if self.begins_with_state and self._last_commit(self.generation) is not None:
            self._settle_in()
        self.sweep()
        if self.generation.fits(job):
            now = self.generation
            self.manifest.generations[-1] = now.followed_by(job, now.number, now.first, now.driver)
            self._file.write(self.manifest)
        return self.manifest

    def _create(self, job: JobSpec) -> None:
        first = Generation(0, job.parallelism).followed_by(job, 0, 0)
        made = Manifest(uuid.uuid4().hex, job.max_parallelism, len(job.stages), [first])
        self.root.mkdir(parents=True, exist_ok=True)
        self._file.create(made)
        self.check()

    def take_over(self) -> None:
        """Begin with copies of what the previous driver has left, as it is now. If the previous
        driver lives and writes on, that changes nothing here; :meth:`outrun` tells whether it has
        planned more meanwhile."""
        if self._source is None:
            self._source = max((n for n in self.layout.drivers() if n < self._driver), default=0)
        # first of all: what is copied after this holds every micro-batch with a pledge
        take_over_pledges(self.layout, self._source, self._driver)
        source = ManifestFile(self.layout.manifest_of(self._source))
        self.manifest = source.read()
        if not self._source:
            # an earlier version of Scurry does not know that there are leases, and must not go on
            source.write(self.manifest)
        self._cut = self._last_plan(self.generation)
        ends = [each.first - 1 for each in self.manifest.generations[1:]]
        for at, last in enumerate([*ends, None]):
            self._take_over_generation(at, last)
        own = self.layout.manifest_of(self._driver)
        own.parent.mkdir(parents=True, exist_ok=True)
        self._file = source.beside(own)
        self._file.write(self.manifest)
        self._taken_over = True

    def _take_over_generation(self, at: int, last: int | None) -> None:
        """Have own files of the generation number ``at`` of the manifest, up to ``last``."""
        before = self.manifest.generations[at]
        now = msgspec.structs.replace(before, driver=self._driver)
        committed = self._last_commit(before)
        if committed is not None:
            committed = committed if last is None else min(last, committed)
        take_over(self.home_of(before), self.home_of(now), before.first, committed)
        self.manifest.generations[at] = now

    def sync(self) -> None:
        """Have all that was written so far on the disk, if that is wanted."""
        if self.synced and isinstance(self.root, Path):
            sync_file_system(self.root)

    def outrun(self) -> bool:
        """Whether the previous driver has planned micro-batches, and perhaps committed them to
        sinks, since its files were taken over."""
        if self._source is None:
            return False
        theirs = ManifestFile(self.layout.manifest_of(self._source)).read()
        return self._last_plan(theirs.generations[-1]) > self._cut

    def settle(self) -> None:
        """Remove the files of earlier drivers. Called when nobody needs them any more."""
        if self._source is None:
            return
        self._source = None
        for number in (0, *self.layout.generations()):
            for home in self.layout.home(number).drivers():
                if home.driver < self._driver:
                    remove_tree(home.own)
            legacy = self.layout.home(number)
            for part in (*legacy.of_driver, *legacy.plan_drafts):
                remove_tree(part)
        remove_tree(self.layout.sealed_pledges(0))

    def _last_plan(self, generation: Generation) -> int:
        if generation.engine == LIVE:
            last = self._last_own_commit(generation)
            return generation.first - 1 if last is None else last
        place = self.home_of(generation).plans
        return max((int(name) for name in names_in(place) if name.isdigit()), default=-1)

    def _own(self) -> None:
        """Make the directory one that only this user can enter; raises :class:`StateError` if it
        is somebody else's."""
        if isinstance(self.root, ObjectPath):
            own_directory(user_root(), "Remove it, or set TMPDIR to a directory of your own.")
            here(self.root).mkdir(parents=True, exist_ok=True)
            return
        otherwise = "Take its ownership (chown), or give a directory of your own."
        place = self.root.resolve()
        if place.is_dir():
            check_owner(place, otherwise)
            place.chmod(0o700)
        else:
            own_directory(place, otherwise)

    def durable(self) -> tuple[Generation, int]:
        """The last generation in which something was committed, and the number of the last
        micro-batch; -1 if nothing was committed ever."""
        for generation in reversed(self.manifest.generations):
            last = self._last_commit(generation)
            if last is not None:
                return generation, last
        return self.generation, -1

    def draft(self, job: JobSpec) -> Generation:
        """The generation that ``job`` needs, with an empty directory; not in force yet."""
        _, last = self.durable()
        number = self._driver or self.generation.number + 1
        made = self.generation.followed_by(job, number, last + 1, self._driver)
        home = self.home_of(made)
        remove_tree(home.path)
        for part in (*home.needed, home.initial_state):
            part.mkdir(parents=True)
        return made

    def switch_to(self, made: Generation) -> None:
        """Put a generation into force, all at once."""
        kept, last = self.durable()
        self.manifest.generations = [*([kept] if last >= 0 else []), made]
        self.manifest.max_parallelism = made.max_parallelism
        self._file.write(self.manifest)
        self.sweep()

    def sweep(self) -> None:
        """Remove what belongs to generations that are no longer known."""
        known = {generation.number for generation in self.manifest.generations}
        for number in self.layout.generations():
            # a later driver knows generations that this one does not
            if number not in known and not (self._driver and number > self._driver):
                remove_tree(self.layout.home(number).path)
        if 0 not in known:
            first = self.layout.home(0, self._driver)
            for part in (*first.parts, *first.plan_drafts):
                remove_tree(part)

    def fits(self, job: JobSpec) -> bool:
        """Whether ``job`` can go on in the generation in force: it has the same slots, and all
        state lies in the stage of its operator."""
        epoch = self.last_epoch()
        return self.generation.fits(job) and (epoch is None or not moved(job, epoch))

    def _settle_in(self) -> None:
        """Forget the previous generation, and the state that this one began with. Called when the
        generation in force has committed something, so that nobody goes back."""
        remove_tree(self.home.initial_state)
        del self.manifest.generations[:-1]
        self._file.write(self.manifest)
        self.sweep()

    def write_plan(self, batch: int, tasks: Sequence[TaskPlan], after: Epoch) -> None:
        """Write the plan of micro-batch ``batch`` down, all at once."""
        self.write_plan_of(self.generation, batch, tasks, after)

    def write_plan_of(
        self, generation: Generation, batch: int, tasks: Sequence[TaskPlan], after: Epoch
    ) -> None:
        """Write a plan down for a generation that may not be in force yet."""
        home = self.home_of(generation)
        place = draft = home.plan(batch)
        if isinstance(place, Path):
            draft = home.plan_draft(batch)
            remove_tree(draft)
            draft.mkdir()
        for task in tasks:
            home.share(draft, task.task).write_bytes(encode_plan(task))
        home.after(draft).write_bytes(msgspec.json.encode(after))
        if isinstance(draft, Path) and draft != place:
            draft.rename(str(place))

    def revise_plan(self, batch: int, tasks: Sequence[TaskPlan]) -> None:
        """Replace what tasks read in micro-batch ``batch``, task by task."""
        home = self.home
        for task in tasks:
            write_whole(home.share(home.plan(batch), task.task), encode_plan(task))

    @property
    def _pledges(self) -> AnyPath:
        return self.layout.pledges(self._driver)

    def write_pledge(self, pledge: Pledge) -> None:
        """Remember what sinks are going to commit; fails if another driver has taken over."""
        if not self._driver:
            self._pledges.mkdir(exist_ok=True)
        write_whole(self.layout.pledge(self._pledges), msgspec.msgpack.encode(pledge))

    def pledge_of(self, batch: int) -> dict[str, list[Any]]:
        """What was pledged for micro-batch ``batch``, by the uid of the sink."""
        place = self.layout.pledge(self._pledges)
        if not place.exists():
            return {}
        try:
            found = msgspec.msgpack.decode(place.read_bytes(), type=Pledge)
        except msgspec.MsgspecError as failure:
            raise StateError(
                f"The checkpoint is damaged: {place} cannot be read ({failure}). Put the file "
                f"back. {WAYS_OUT}"
            ) from failure
        return found.messages if found.batch == batch else {}

    def drop_plans_after(self, batch: int) -> None:
        """Forget plans that cannot have been executed: those beyond the one after ``batch``."""
        for place in self.home.plans.glob("[0-9]*"):
            if int(place.name) > batch + 1:
                remove_tree(place)

    def tasks_of_plan(self, batch: int) -> list[TaskPlan]:
        """What the plan of micro-batch ``batch`` says."""
        home, place = self.home, self.home.plan(batch)
        numbers = sorted(int(name) for name in names_in(place) if name.isdigit())
        return [decode_plan(home.share(place, number).read_bytes()) for number in numbers]

    def pending_plan(self, after: int) -> tuple[int, Epoch] | None:
        """The plan that was written but not committed before a restart, if there is one."""
        place = self.home.plan(after + 1)
        last = self.home.after(place)
        # in an object store the file that comes last shows that the plan is whole
        if not (place if isinstance(place, Path) else last).exists():
            return None
        return after + 1, _read_epoch(last)

    def draft_epoch(self, epoch: Epoch) -> None:
        """The epoch goes to the disk already, beside what is written before it. An object store
        has no place for a file that does not count yet."""
        path = self.home.epoch(epoch.batch)
        if self._draft is not None:
            # of an attempt that has failed before it could write its epoch
            self._draft.settle()
        if isinstance(path, Path):
            self._draft = Draft(path, msgspec.json.encode(epoch))

    def write_epoch(self, epoch: Epoch) -> None:
        """Remember where the job stands after a micro-batch; those before are committed."""
        self.write_epoch_of(self.generation, epoch)
        if self.begins_with_state and epoch.batch > self.generation.first:
            self._settle_in()
        if self.generation.engine != LIVE:
            old = epoch.batch - _KEEP
            self.home.epoch(old).unlink(missing_ok=True)
            remove_tree(self.home.plan(old))

    def write_promises(self, batch: int, prepared: Promises) -> None:
        """Keep what sinks have prepared in micro-batch ``batch``, until they have committed it."""
        self.write_promises_of(self.generation, batch, prepared)

    def write_promises_of(self, generation: Generation, batch: int, prepared: Promises) -> None:
        """The same for a generation that may not be in force yet."""
        path = self.home_of(generation).promises(batch)
        write_whole(path, msgspec.msgpack.encode(prepared))

    def promises(self, batch: int) -> Promises:
        """What sinks have prepared in the committed micro-batch ``batch`` and may not have
        committed themselves."""
        try:
            content = self.home.promises(batch).read_bytes()
        except FileNotFoundError:
            return {}
        return msgspec.msgpack.decode(content, type=Promises)

    def drop_promises(self, batch: int) -> None:
        """Sinks have committed what they prepared in micro-batch ``batch``. An epoch that nobody
        goes back to goes with it, by the same request."""
        remove_files([self.home.promises(batch), self.home.epoch(batch - _KEEP)])

    def write_epoch_of(self, generation: Generation, epoch: Epoch) -> None:
        """Write an epoch down for a generation that may not be in force yet."""
        path, content = self.home_of(generation).epoch(epoch.batch), msgspec.json.encode(epoch)
        draft, self._draft = self._draft, None
        if draft is not None and draft.holds(path, content):
            draft.publish()
        else:
            write_whole(path, content)

    def committed(self, batch: int) -> bool:
        """Whether Spark has committed micro-batch ``batch``."""
        first = self.generation.first
        return batch < first or self.home.spark_commit(batch - first).exists()

    def _last_commit(self, generation: Generation) -> int | None:
        if generation.written:
            return generation.first
        if generation.engine == LIVE:
            return self._last_own_commit(generation)
        commits = names_in(self.home_of(generation).spark_commits)
        numbers = [int(name) for name in commits if name.isdigit()]
        return max(numbers) + generation.first if numbers else None

    def _last_own_commit(self, generation: Generation) -> int | None:
        """The last micro-batch where it is the epoch itself that commits one. (The epoch that a
        generation begins with is of the one before.)"""
        epochs = names_in(self.home_of(generation).epochs)
        names = (name.removesuffix(".json") for name in epochs)
        numbers = [int(name) for name in names if name.isdigit()]
        return max((number for number in numbers if number >= generation.first), default=None)

    def last_epoch(self) -> Epoch | None:
        """The epoch of the last micro-batch that was committed, None for a new job."""
        last = self._last_commit(self.generation)
        if last is None:
            last = self.generation.first - 1
        if last < 0:
            return None
        return self.epoch_of(self.generation, last)

    def epoch_of(self, generation: Generation, batch: int) -> Epoch:
        """The epoch after micro-batch ``batch``, which was committed in ``generation``, or came
        just before it."""
        place = self.home_of(generation).epoch(batch)
        if not place.exists():
            raise StateError(
                f"The checkpoint in {self.root} is damaged: micro-batch {batch} was "
                f"committed, but {place.name} is missing from {place.parent}."
            )
        return _read_epoch(place)

    def delete(self) -> None:
        """Remove everything."""
        remove_tree(self.root)


def _read_epoch(path: AnyPath) -> Epoch:
    try:
        return decode_epoch(path.read_bytes())
    except (OSError, msgspec.MsgspecError) as failure:
        raise StateError(
            f"The checkpoint is damaged: {path} cannot be read ({failure}). Put the file back. "
            f"{WAYS_OUT}"
        ) from failure
