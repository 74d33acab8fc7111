"""``scurry rescale JOB N``: give a running job another parallelism."""

from __future__ import annotations

import click


@click.command()
@click.argument("job")
@click.argument("parallelism", type=click.IntRange(min=1))
@click.option(
    "--timeout", default=600.0, show_default=True, help="Seconds to wait until the job goes on."
)
def rescale(job: str, parallelism: int, timeout: float) -> None:
    """Give the running JOB another PARALLELISM, and print for how long it stood still.

    JOB is a checkpoint directory, the id of a job, or a part of its name. The job ends its
    micro-batch, deals its state out to the new slots, and goes on by itself. Operators that have a
    parallelism of their own keep it.
    """
    # kept out of the start of all other commands
    from scurry.cli.failures import readable_failures
    from scurry.cli.savepoint_create import rescale_job

    with readable_failures():
        click.echo(rescale_job(job, parallelism, timeout))
