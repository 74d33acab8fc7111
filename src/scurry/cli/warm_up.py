"""``scurry warm-up``: make later starts faster, once per machine.

A job's first seconds go into the JVM loading Spark's classes. This command runs a small job and
keeps them in an archive that later JVMs map into memory. It takes half a minute the first time and
nothing afterwards.
"""

from __future__ import annotations

import click

from scurry.cli.failures import readable_failures


@click.command("warm-up")
def warm_up() -> None:
    """Prepare this machine, once, so that jobs start faster."""
    with readable_failures():
        from scurry.engine.spark.class_archive import archive_path, create_archive

        path = archive_path()
        if path is not None and path.exists():
            return
        click.echo("scurry: preparing Spark for faster starts, once; about half a minute", err=True)
        if create_archive() is None:
            click.echo("scurry: this JVM makes no class archive; jobs start without one", err=True)
