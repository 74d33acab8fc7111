"""The manifest of a checkpoint, ``job.json``: what it is, who wrote it, and how to read it.

It holds what does not change from one micro-batch to the next. It is written when a checkpoint is
made, when a job starts on it that changes something of it, and when a generation comes into force
or goes; never by a micro-batch.

The *format* is the version of everything in a job's directory but the epochs, which have one of
their own. It is compared before anything else is read, so that a checkpoint of another format is
refused in words, whatever it looks like. Within a format, fields may be added that have a default:
a manifest without them is read, and one with fields that this version does not know is read and
keeps them when it is written again.
"""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import msgspec

from scurry import __version__
from scurry.common.any_paths import AnyPath, create_whole, write_whole
from scurry.common.errors import StateError
from scurry.common.options.execution import LIVE, MICRO_BATCH
from scurry.runtime.specs import JobSpec

#: The version of all that is in a checkpoint. 4 had no leases; it is read, and written on as this.
FORMAT = 5
_READ = (4, FORMAT)


class Writer(msgspec.Struct, frozen=True):
    """The versions of what wrote a checkpoint last; empty if they are not known."""

    scurry: str = ""
    pyspark: str = ""


def this_writer() -> Writer:
    """The versions of what is running."""
    try:
        return Writer(__version__, version("pyspark"))
    except PackageNotFoundError:
        return Writer(__version__)


def _release(version_: str) -> tuple[int, ...]:
    """The first two numbers of a version, by which Spark's formats change; () if not known."""
    found = re.match(r"(\d+)\.(\d+)", version_)
    return tuple(map(int, found.groups())) if found else ()


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
    #: the epoch of the lease of the driver whose files of this generation count
    driver: int = 0
    #: how many stages there are; -1 in manifests of earlier versions, which say it for all
    stages: int = -1
    #: the engine in whose form it is, which in an object store another one may execute
    engine: str = MICRO_BATCH
    #: whether no job has made it: its state was written as files, in the form in which slots begin
    #: with it, and has to be dealt out before a job can go on with it
    written: bool = False
    #: the number of key groups; 0 in manifests of earlier versions, which say it for all
    max_parallelism: int = 0

    def fits(self, job: JobSpec) -> bool:
        """Whether ``job`` has the parallelism of this generation, in all its parts, as many stages
        and key groups, and the same engine."""
        known = {**self.operators, **self.sources}
        degrees = {**job.degrees, **_tasks(job)}
        same = all(known.get(uid, degree) == degree for uid, degree in degrees.items())
        same = same and self.engine == job.kept_as and not self.written
        same = same and self.max_parallelism == job.max_parallelism
        return (same and self.parallelism == job.parallelism) and self.stages == len(job.stages)

    def followed_by(self, job: JobSpec, number: int, first: int, driver: int = 0) -> Generation:
        """The generation of ``job`` that comes after this one. What is known of operators that
        the job does not have is kept: they may come back."""
        return Generation(
            number,
            job.parallelism,
            {**self.operators, **job.degrees},
            {**self.sources, **_tasks(job)},
            first,
            driver,
            len(job.stages),
            job.kept_as,
            max_parallelism=job.max_parallelism,
        )


def _tasks(job: JobSpec) -> dict[str, int]:
    return {source.uid: source.tasks for source in job.sources}


class Manifest(msgspec.Struct):
    """What is fixed for the life of a checkpoint, and its generations, the one in force last."""

    checkpoint_id: str
    #: the number of key groups of the generation in force
    max_parallelism: int
    #: how many stages the first generation had
    stages: int
    generations: list[Generation]
    #: the format
    version: int = FORMAT
    writer: Writer = Writer()
    #: the name of the job that worked with it last
    name: str = ""
    #: the id of the savepoint that it began with, if any
    restored_from: str = ""
    #: tells checkpoints apart that began with the same savepoint; empty for the original
    copy: str = ""


class _Format(msgspec.Struct):
    """What is read of a manifest whose format is not known yet."""

    version: int
    writer: Writer = Writer()


def check_writer(root: AnyPath, manifest: Manifest) -> None:
    """Raise :class:`StateError` if a later Spark wrote the checkpoint in ``root`` last, and part of
    it is in Spark's form. Spark reads what its earlier versions wrote, and makes no promise about
    later ones. Checkpoints of the live engine, those in object stores, and savepoints of either
    have nothing of Spark's in them."""
    if all(each.engine == LIVE or each.written for each in manifest.generations):
        return
    writer, ours = manifest.writer, this_writer().pyspark
    if _release(writer.pyspark) > _release(ours) > ():
        raise StateError(
            f"The checkpoint in {root} was written with PySpark {writer.pyspark}, and this is "
            f"PySpark {ours}, which may misread it. Go on with PySpark {writer.pyspark} or a later "
            "version, or start anew with an empty directory."
        )


class ManifestFile:
    """The manifest as a file."""

    def __init__(self, path: AnyPath) -> None:
        self._path = path
        #: the content as it was read or written last
        self._content: dict[str, Any] = {}

    def exists(self) -> bool:
        """Whether there is a checkpoint."""
        return self._path.exists()

    def read(self) -> Manifest:
        """The manifest; raises :class:`StateError` if it is damaged, or of another format."""
        try:
            content = self._path.read_bytes()
            found = msgspec.json.decode(content, type=_Format)
            if found.version not in _READ:
                raise StateError(_another_format(self._path.parent, found))
            self._content = msgspec.json.decode(content)
            made = msgspec.json.decode(content, type=Manifest)
            made.version = FORMAT
            for generation in made.generations:
                if generation.stages < 0:
                    generation.stages = made.stages
                generation.max_parallelism = generation.max_parallelism or made.max_parallelism
            return made
        except (OSError, msgspec.MsgspecError) as failure:
            raise StateError(
                f"{self._path} cannot be read ({failure}): the checkpoint is damaged, or was "
                "written by another version of Scurry. Put the file back, or start anew with an "
                "empty directory."
            ) from failure

    def write(self, manifest: Manifest) -> None:
        """Replace the file by ``manifest``, all at once. Does nothing if the file says the same."""
        content = {**self._content, **msgspec.to_builtins(manifest)}
        if content != self._content or not self.exists():
            write_whole(self._path, msgspec.json.encode(content))
            self._content = content

    def create(self, manifest: Manifest) -> bool:
        """Create the file with ``manifest`` in it; False if another process has done so first."""
        return create_whole(self._path, msgspec.json.encode(manifest))

    def beside(self, path: AnyPath) -> ManifestFile:
        """A file at ``path``, which need not exist yet, for the manifest that this one holds."""
        made = ManifestFile(path)
        made._content = dict(self._content)
        return made


def _another_format(root: AnyPath, found: _Format) -> str:
    by = f", written by Scurry {found.writer.scurry}" if found.writer.scurry else ""
    return (
        f"The checkpoint in {root} has format {found.version}{by}; this version of Scurry "
        f"({__version__}) reads and writes format {FORMAT}. Go on with the version of Scurry that "
        "wrote it, or start anew with an empty directory."
    )
