"""``scurry diff SAVEPOINT FILE.py``: what a changed program would do with stored state."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from scurry.cli.failures import readable_failures
from scurry.cli.run import (
    PROGRAM_SETTINGS,
    as_script,
    conf_option,
    parallelism_option,
    settings,
)


@click.command(context_settings=PROGRAM_SETTINGS, options_metavar="[OPTIONS]")
@conf_option
@parallelism_option
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for each state.")
@click.argument("savepoint")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def diff(
    conf: dict[str, str],
    parallelism: int | None,
    as_json: bool,
    savepoint: str,
    file: Path,
    arguments: Sequence[str],
) -> None:
    """Print what becomes of the state in SAVEPOINT if the program FILE goes on with it.

    SAVEPOINT is a savepoint or a checkpoint. The program runs up to the start of its first job,
    which is not started. For each state it says whether the state is kept, migrated and how, new,
    or dropped. Exits with 1 if something would be dropped, which needs
    `scurry run --allow-dropped UID`.
    """
    # kept out of the start of all other commands
    from scurry.cli.diff_tables import show_changes
    from scurry.common.any_paths import path_of
    from scurry.datastream.previews import first_job

    script = file.resolve()
    variables = settings(None, parallelism, conf)
    with as_script(script, arguments, variables), readable_failures(script):
        job = first_job(lambda: runpy.run_path(str(script), run_name="__main__"))
        if job is None:
            raise click.ClickException(f"{file} ends without having started a job.")
        dropped = show_changes(path_of(savepoint), job.spec, as_json)
    sys.exit(1 if dropped else 0)
