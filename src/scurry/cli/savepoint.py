"""``scurry savepoint``: taking, looking at, checking, copying and removing savepoints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from scurry.cli.shown import plain

if TYPE_CHECKING:
    from scurry.common.any_paths import AnyPath


@contextmanager
def _readable() -> Iterator[None]:
    """Errors as one message."""
    # kept out of the start of all other commands
    from scurry.common.errors import ScurryError

    try:
        yield
    except (ScurryError, OSError) as failure:
        raise click.ClickException(plain(str(failure))) from failure


def _at(place: str) -> AnyPath:
    from scurry.common.any_paths import path_of

    return path_of(place)


@click.group()
def savepoint() -> None:
    """Take savepoints of jobs, and look after them.

    A savepoint is a directory with all that a job needs to go on: state, positions of sources, what
    sinks have committed. It can be moved and copied. Start from it with
    `scurry run --from-savepoint PATH`. Each place may be a path or a URL, such as s3://bucket/path;
    how its store is reached, the variable SCURRY_CONF says.
    """


@savepoint.command()
@click.argument("job")
@click.argument("directory", required=False)
@click.option("--name", default="", help="What it is called; by default a name that is not in use.")
@click.option("--stop", is_flag=True, help="End the job with the savepoint.")
@click.option(
    "--drain", is_flag=True, help="With --stop: have all windows and timers fire before that."
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=600.0,
    show_default=True,
    help="Seconds to wait.",
)
def create(
    job: str, directory: str | None, name: str, stop: bool, drain: bool, timeout: float
) -> None:
    """Take a savepoint of JOB and put it into DIRECTORY.

    JOB is a checkpoint directory, the id of a running job, or a part of its name. The job goes on
    unless --stop is given; if it is not running, the savepoint is made of its checkpoint. Without
    DIRECTORY the job's execution.checkpointing.savepoint-dir is used. Prints the path.
    """
    if drain and not stop:
        raise click.UsageError("--drain ends the job: give --stop as well.")
    from scurry.cli.savepoint_create import create_savepoint

    with _readable():
        click.echo(create_savepoint(job, directory, name, stop, drain, timeout))


@savepoint.command("list")
@click.argument("directory")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def list_(directory: str, as_json: bool) -> None:
    """List the savepoints in DIRECTORY, the newest first."""
    from scurry.cli.savepoint_tables import show_list

    with _readable():
        show_list(_at(directory), as_json)


@savepoint.command()
@click.argument("path")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def show(path: str, as_json: bool) -> None:
    """Print what the savepoint in PATH holds. Only its manifest is read."""
    from scurry.cli.savepoint_tables import show_savepoint

    with _readable():
        show_savepoint(_at(path), as_json)


@savepoint.command()
@click.argument("path")
@click.argument("uid", required=False)
@click.argument("name", required=False)
@click.option("--timers", is_flag=True, help="Print the timers of the operator UID.")
@click.option("--windows", is_flag=True, help="Print what the windows of the operator UID hold.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=100,
    show_default=True,
    help="Print at most so many keys; 0 for all.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each key.")
def read(
    path: str,
    uid: str | None,
    name: str | None,
    timers: bool,
    windows: bool,
    limit: int,
    as_json: bool,
) -> None:
    """Print what the state NAME of the operator UID holds, key by key.

    PATH is a savepoint, or a checkpoint, also of a job that is running. Without UID all states are
    listed. Values are unpickled: this is refused with a directory of somebody else's.
    """
    if [name is not None, timers, windows].count(True) != (uid is not None):
        raise click.UsageError("Give UID and one of NAME, --timers and --windows, or neither.")
    from scurry.cli.state_tables import Asked, show

    with _readable():
        show(Asked(path, uid, name, timers), limit, as_json)


@savepoint.command()
@click.argument("path")
def verify(path: str) -> None:
    """Compare all files of the savepoint in PATH with their checksums."""
    from scurry.checkpoint.savepoint_manifest import check_whole, read_manifest
    from scurry.cli.shown import size_in_words

    with _readable():
        manifest = read_manifest(_at(path))
        check_whole(_at(path), manifest)
    click.echo(f"{path} is whole: {len(manifest.files)} files, {size_in_words(manifest.bytes)}")


@savepoint.command()
@click.argument("path")
@click.argument("target")
def copy(path: str, target: str) -> None:
    """Copy the savepoint in PATH to TARGET, and check both."""
    from scurry.checkpoint.savepoint_directory import copy as copy_savepoint

    with _readable():
        copy_savepoint(_at(path), _at(target))
        click.echo(str(_at(target)))


@savepoint.command()
@click.argument("paths", nargs=-1, required=True)
def drop(paths: tuple[str, ...]) -> None:
    """Remove the savepoints in PATHS."""
    from scurry.checkpoint.savepoint_directory import drop as drop_savepoint

    with _readable():
        for path in paths:
            drop_savepoint(_at(path))
            click.echo(f"removed {path}")


@savepoint.command()
@click.argument("directory")
@click.option("--keep", type=click.IntRange(min=1), help="Keep the last so many of each job.")
@click.option("--delete", is_flag=True, help="Remove it; without this it is only listed.")
def gc(directory: str, keep: int | None, delete: bool) -> None:
    """List what can be removed from DIRECTORY: savepoints that were never finished and, with
    --keep, all but the last ones of each job. With --delete it is removed."""
    from scurry.cli.savepoint_tables import collect_garbage

    with _readable():
        collect_garbage(_at(directory), keep, delete)
