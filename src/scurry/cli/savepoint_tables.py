"""What the commands about savepoints print."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import click
import msgspec
from rich.console import Console
from rich.table import Table

from scurry.checkpoint.savepoint_directory import Found, garbage, remove, savepoints_in
from scurry.checkpoint.savepoint_manifest import SavepointManifest, read_manifest
from scurry.cli.checkpoint_tables import show_parts
from scurry.cli.shown import plain, size_in_words
from scurry.common.any_paths import AnyPath

#: Seconds after which a savepoint in which nothing happens is taken for one that was given up.
_GIVEN_UP = 3600.0


def show_list(directory: AnyPath, as_json: bool) -> None:
    """Print the savepoints in ``directory``."""
    found = savepoints_in(directory)
    if as_json:
        shown = [{"path": str(each.path), "savepoint": each.manifest} for each in found]
        click.echo(msgspec.json.format(msgspec.json.encode(shown)).decode())
        return
    console = Console(highlight=False, markup=False)
    if not found:
        console.print(f"There are no savepoints in {plain(str(directory))}.", soft_wrap=True)
        return
    table = Table("savepoint", "taken", "job", "batch", "size", "parallelism", box=None)
    for each in found:
        table.add_row(plain(each.path.name), *_row(each))
    console.print(table)


def _row(found: Found) -> tuple[str, ...]:
    manifest = found.manifest
    if manifest is None:
        return ("", plain(found.problem), "", "", "")
    contents = manifest.contents
    return (
        moment(manifest.taken),
        plain(contents.job),
        str(contents.batch),
        size_in_words(manifest.bytes),
        str(contents.parallelism),
    )


def moment(milliseconds: int) -> str:
    """A moment, in UTC."""
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def show_savepoint(path: AnyPath, as_json: bool) -> None:
    """Print what the savepoint in ``path`` holds."""
    manifest = read_manifest(path)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(manifest)).decode())
        return
    console = Console(highlight=False, markup=False)
    for line in _facts(path, manifest):
        console.print(line, soft_wrap=True)
    show_parts(console, manifest.contents)


def _facts(path: AnyPath, manifest: SavepointManifest) -> list[str]:
    found = manifest.contents
    ended = "; event time had come to its end" if manifest.drained else ""
    how = "the job ended with it" if manifest.stopped else "the job went on"
    return [
        f"savepoint {manifest.savepoint_id} in {plain(str(path))}",
        f"taken {moment(manifest.taken)} of {plain(found.directory)}; {how}{ended}",
        f"job {plain(found.job)!r}, checkpoint {plain(found.checkpoint_id)}, format "
        f"{found.format}, written by Scurry {plain(found.writer.scurry)}, PySpark "
        f"{plain(found.writer.pyspark)}",
        f"parallelism {found.parallelism}, key groups {found.max_parallelism}, stages "
        f"{found.stages}, last micro-batch {found.batch}",
        f"{len(manifest.files)} files, {size_in_words(manifest.bytes)}",
    ]


def collect_garbage(directory: AnyPath, keep: int | None, delete: bool) -> None:
    """List or remove what can be removed from ``directory``."""
    found = garbage(directory, keep, time.time() - _GIVEN_UP)
    verb = "removed" if delete else "would remove"
    for path in found.unfinished:
        click.echo(f"{verb} {plain(str(path))}: it was never finished")
    for each in found.surplus:
        assert each.manifest is not None
        taken = moment(each.manifest.taken)
        later = "is a later one" if keep == 1 else f"are {keep} later ones"
        click.echo(f"{verb} {plain(str(each.path))}: taken {taken}, and there {later}")
    if not found.unfinished and not found.surplus:
        click.echo("There is nothing to remove.")
    elif delete:
        remove(found)
    else:
        click.echo("Nothing was removed. Give --delete to do so.")
