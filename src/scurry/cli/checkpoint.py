"""``scurry checkpoint``: looking at checkpoints."""

from __future__ import annotations

import click


@click.group()
def checkpoint() -> None:
    """Look at checkpoints."""


@checkpoint.command()
@click.argument("directory")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def show(directory: str, as_json: bool) -> None:
    """Print what the checkpoint in DIRECTORY holds: job, sources and their positions, operators and
    their state, sinks, history, size on disk.

    Only JSON files are read, and nothing is executed, so this is safe with a checkpoint of somebody
    else's, and while a job is running.
    """
    # kept out of the start of all other commands
    from scurry.cli.checkpoint_tables import show_checkpoint

    show_checkpoint(directory, as_json)
