"""``scurry run FILE.py``: run a program as ``python FILE.py`` would, with a chosen cluster.

The program stays an ordinary script; what the command line adds reaches it through environment
variables, which the execution environment reads as defaults when it is created:

====================== =========================================================
``SCURRY_MASTER``      the Spark master, for instance ``local[4]``
``SCURRY_PARALLELISM`` the default parallelism, a positive integer
``SCURRY_CONF``        further configuration: a JSON object of strings
====================== =========================================================

The script's directory is importable in the program and, through ``PYTHONPATH``, in the Python
workers that Spark starts on the same machine.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import click

from scurry.cli.failures import readable_failures


def parse_conf(
    context: click.Context, parameter: click.Parameter, pairs: Sequence[str]
) -> dict[str, str]:
    """Turn repeated ``key=value`` options into a mapping; the last value of a key wins."""
    conf: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(
                f"{pair!r} is not of the form key=value, for instance "
                "spark.sql.shuffle.partitions=8",
                context,
                parameter,
            )
        conf[key.strip()] = value
    return conf


def settings(
    master: str | None, parallelism: int | None, conf: Mapping[str, str]
) -> dict[str, str]:
    """The environment variables that hand the options on; absent options set nothing."""
    variables: dict[str, str] = {}
    if master is not None:
        variables["SCURRY_MASTER"] = master
    if parallelism is not None:
        variables["SCURRY_PARALLELISM"] = str(parallelism)
    if conf:
        variables["SCURRY_CONF"] = json.dumps(dict(conf), sort_keys=True)
    return variables


@contextmanager
def as_script(
    script: Path, arguments: Sequence[str], variables: Mapping[str, str]
) -> Iterator[None]:
    """Give the body the arguments, import path and environment of the script, then undo it."""
    directory = str(script.parent)
    argv, path, environment = sys.argv, list(sys.path), dict(os.environ)
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, directory)
    os.environ.update(variables)
    inherited = environment.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([directory, *([inherited] if inherited else [])])
    try:
        yield
    finally:
        sys.argv = argv
        sys.path[:] = path
        os.environ.clear()
        os.environ.update(environment)


#: How a command takes a program and its arguments: options of its own stand before the program.
PROGRAM_SETTINGS = {"ignore_unknown_options": True, "allow_interspersed_args": False}
conf_option = click.option(
    "--conf",
    metavar="KEY=VALUE",
    multiple=True,
    callback=parse_conf,
    help="A configuration value; may be repeated.",
)
parallelism_option = click.option(
    "--parallelism", type=click.IntRange(min=1), metavar="N", help="Default parallelism."
)


@click.command(context_settings=PROGRAM_SETTINGS, options_metavar="[OPTIONS]")
@click.option("--master", metavar="URL", help="Spark master, for instance local[4].")
@conf_option
@parallelism_option
@click.option(
    "--progress/--no-progress",
    default=None,
    help="Show how far jobs are, on stderr; by default if that is a terminal.",
)
@click.option(
    "-n",
    "--allow-non-restored-state",
    "--allowNonRestoredState",
    "drop_state",
    is_flag=True,
    help="Start from a checkpoint that holds state which no operator takes over, and drop that.",
)
@click.option(
    "--allow-dropped",
    "dropped",
    metavar="UID",
    multiple=True,
    help="Drop the state of the operator UID if the program cannot take it over; may be repeated. "
    "`scurry diff` lists what would be dropped.",
)
@click.option(
    "-s",
    "--from-savepoint",
    "--fromSavepoint",
    "savepoint",
    metavar="PATH",
    help="Start from a savepoint. Started again, the job goes on with its own checkpoint.",
)
@click.option("--traceback", "full", is_flag=True, help="Show the traceback of every error.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def run(
    master: str | None,
    conf: dict[str, str],
    parallelism: int | None,
    progress: bool | None,
    drop_state: bool,
    dropped: tuple[str, ...],
    savepoint: str | None,
    full: bool,
    file: Path,
    arguments: tuple[str, ...],
) -> None:
    """Run the program FILE with ARGUMENTS.

    Options of scurry stand before FILE; all that follows FILE belongs to the program.
    """
    script = file.resolve()
    conf = {**conf, **_recovery(drop_state, dropped, savepoint)}
    variables = settings(master, parallelism, conf)
    wanted = sys.stderr.isatty() if progress is None else progress
    with (
        as_script(script, arguments, variables),
        readable_failures(script, full=full),
        _status() if wanted else nullcontext(),
    ):
        runpy.run_path(str(script), run_name="__main__")


def _recovery(drop_state: bool, dropped: Sequence[str], savepoint: str | None) -> dict[str, str]:
    """What the options about state mean as configuration."""
    if not drop_state and not dropped and savepoint is None:
        return {}
    # imported here, because other commands start faster without it
    from scurry.common.options import checkpoints

    found = {checkpoints.IGNORE_UNCLAIMED_STATE.key: "true"} if drop_state else {}
    if dropped:
        # a semicolon behind each, so that a uid may have commas
        found[checkpoints.ALLOW_DROPPED.key] = "".join(f"{uid};" for uid in dropped)
    if savepoint is not None:
        from scurry.common.any_paths import is_url, path_of

        place = savepoint if is_url(savepoint) else str(path_of(savepoint))
        found[checkpoints.RECOVERY_PATH.key] = place
    return found


def _status() -> AbstractContextManager[None]:
    # imported here, because other commands start faster without it
    from scurry.cli.status import StatusLine

    return StatusLine().shown()
