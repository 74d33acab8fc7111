"""Entry point of the console command: the ``scurry`` group and its subcommands.

Each subcommand lives in a module of its own and knows nothing of the others. The entry point in
the package's metadata names :data:`main`.
"""

from __future__ import annotations

import click

from scurry import __version__
from scurry.cli.checkpoint import checkpoint
from scurry.cli.demo import demo
from scurry.cli.diff import diff
from scurry.cli.doctor import doctor
from scurry.cli.jobs import status
from scurry.cli.rescale import rescale
from scurry.cli.run import run
from scurry.cli.savepoint import savepoint
from scurry.cli.sql import sql
from scurry.cli.state import state
from scurry.cli.warm_up import warm_up


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="scurry", message="%(prog)s %(version)s")
def main() -> None:
    """Flink's stream-processing model in Python, on Spark."""


main.add_command(run)
main.add_command(sql)
main.add_command(demo)
main.add_command(status)
main.add_command(checkpoint)
main.add_command(savepoint)
main.add_command(rescale)
main.add_command(state)
main.add_command(diff)
main.add_command(doctor)
main.add_command(warm_up)

if __name__ == "__main__":
    main()
