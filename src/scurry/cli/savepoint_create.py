"""What ``scurry savepoint create`` and ``scurry rescale`` do: ask the job that runs. A savepoint of
a job that does not run is a copy of its checkpoint."""

from __future__ import annotations

import time
from collections.abc import Callable

import click
from rich.console import Console

from scurry.checkpoint.contents import is_held
from scurry.checkpoint.directory import JobDirectory
from scurry.checkpoint.layout import Layout
from scurry.checkpoint.savepoints import Wish, complete, freeze, savepoint_path
from scurry.cli.job_tables import find_jobs
from scurry.common.any_paths import AnyPath, path_of
from scurry.common.errors import LeaseHeldError, StateError
from scurry.engine.request_files import Answer, asked

#: How often the job that was asked is looked at.
_LOOK_SECONDS = 2.0


def create_savepoint(
    job: str, directory: str | None, name: str, stop: bool, drain: bool, patience: float
) -> str:
    """Have a savepoint taken of ``job``; returns its path."""
    checkpoint = _checkpoint_of(job)
    # the job may have another working directory
    chosen = None if directory is None else str(path_of(directory))
    if _runs(checkpoint):
        return _ask(checkpoint, chosen, name, stop, drain, patience)
    if chosen is None:
        raise click.UsageError("The job is not running, so DIRECTORY has to be given.")
    return _copy(checkpoint, chosen, name)


def _checkpoint_of(job: str) -> AnyPath:
    place = path_of(job)
    if Layout(place).leases.exists() or Layout(place).manifest.exists():
        return place
    found = find_jobs(job)
    if len(found) > 1:
        names = ", ".join(f"{each.metrics.name!r} ({each.metrics.job_id[:8]})" for each in found)
        raise click.ClickException(f"{job!r} fits several jobs: {names}. Give an id.")
    return path_of(found[0].directory)


def _runs(checkpoint: AnyPath) -> bool:
    return is_held(JobDirectory(str(checkpoint)).holder())


def rescale_job(job: str, parallelism: int, patience: float) -> str:
    """Give the running ``job`` another parallelism; what it answers."""
    checkpoint = _checkpoint_of(job)
    if not _runs(checkpoint):
        raise StateError(
            "The job is not running. Start it with the other parallelism: `scurry run "
            f"--parallelism {parallelism} ...`."
        )
    with asked(Layout(checkpoint).requests, patience, parallelism=parallelism) as wait:
        return _answer(checkpoint, wait, patience, "change its parallelism")


def _ask(
    checkpoint: AnyPath, directory: str | None, name: str, stop: bool, drain: bool, patience: float
) -> str:
    place = Layout(checkpoint).requests
    with asked(place, patience, directory=directory, name=name, stop=stop, drain=drain) as wait:
        return _answer(checkpoint, wait, patience, "take a savepoint")


def _answer(
    checkpoint: AnyPath, wait: Callable[[], Answer | None], patience: float, what: str
) -> str:
    """What the job answers that was asked to do ``what``."""
    deadline, look = time.monotonic() + patience, time.monotonic() + _LOOK_SECONDS
    console = Console(stderr=True, highlight=False)
    with console.status(f"waiting for the job to {what}"):
        while time.monotonic() < deadline:
            answer = wait()
            if answer is None and time.monotonic() > look:
                look = time.monotonic() + _LOOK_SECONDS
                if not _runs(checkpoint):
                    # the job may have answered just before it ended
                    answer = wait()
                    if answer is None:
                        raise StateError(f"The job has ended and did not {what}.")
            if answer is not None:
                if answer.error:
                    raise StateError(f"The job did not {what}. {answer.error}")
                return answer.path
    raise StateError(
        f"The job did not {what} within {patience:g} s. `scurry status` says how it is doing; give "
        "a longer --timeout."
    )


def _copy(checkpoint: AnyPath, directory: str, name: str) -> str:
    """Make a savepoint of a checkpoint that no job works with, and keep jobs out meanwhile."""
    held = JobDirectory(str(checkpoint))
    try:
        lease = held.claim("scurry savepoint create")
    except LeaseHeldError as failure:
        raise StateError(f"A job has just been started there; ask again. {failure}") from failure
    try:
        job = held.manifest.checkpoint_id
        return str(complete(freeze(held, Wish(savepoint_path(directory, job, name)))))
    finally:
        lease.release()
