"""``scurry status``: the running jobs of this machine, or the one of a checkpoint directory.

Jobs write how they are doing to a file in their directory (:mod:`scurry.engine.status`). The
command only reads these files, so it can be run at any time, by anybody who may read them.
"""

from __future__ import annotations

import click


@click.command()
@click.argument("job", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def status(job: str | None, as_json: bool) -> None:
    """Show how jobs are doing: records, watermarks, state, checkpoints, by operator.

    JOB is a checkpoint directory, the id of a job, or a part of its name. Without it all your jobs
    on this machine are shown; if there is one, with its operators.
    """
    # kept out of the start of all other commands
    from scurry.cli.job_tables import show_jobs

    show_jobs(job, as_json)
