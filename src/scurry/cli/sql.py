"""``scurry sql``: statements from a file, from the command line, or from a prompt."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from scurry.cli.run import parse_conf


@click.command()
@click.option("-f", "--file", "file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-e", "--execute", "text", help="Statements, with semicolons between them.")
@click.option("--batch", is_flag=True, help="Compute final results of bounded tables.")
@click.option("--conf", "conf", multiple=True, callback=parse_conf, help="A setting, key=value.")
def sql(file: Path | None, text: str | None, batch: bool, conf: Mapping[str, str]) -> None:
    """Execute SQL, from a FILE (-f), from the command line (-e), or from a prompt.

    Works with nothing installed:
    scurry sql -e "SELECT * FROM (VALUES (1, 'a')) AS t (id, name)"
    """
    if conf:
        os.environ["SCURRY_CONF"] = json.dumps(dict(conf), sort_keys=True)
    from scurry.table.client.session import ClientSession

    if file is not None or text is not None:
        session = ClientSession(sys.stdout, batch=batch)
        well = session.run_script(file.read_text(), str(file)) if file is not None else True
        if text is not None and well:
            well = session.run_script(text)
        well = session.wait_for_jobs() and well
        sys.exit(0 if well else 1)
    _interactive(batch)


def _interactive(batch: bool) -> None:
    from scurry.table.client.session import ClientSession

    if not sys.stdin.isatty():
        session = ClientSession(sys.stdout, batch=batch)
        well = session.run_script(sys.stdin.read())
        sys.exit(0 if session.wait_for_jobs() and well else 1)
    try:
        from scurry.table.client.prompt import run_prompt, viewer
    except ImportError:
        raise click.ClickException(
            "the prompt needs the package prompt_toolkit: pip install 'scurry[sql]'. Statements "
            "can be given with -f or -e without it."
        ) from None
    sessions: list[ClientSession] = []
    sessions.append(ClientSession(sys.stdout, viewer(lambda: sessions[0], click.echo), batch=batch))
    run_prompt(sessions[0], click.echo)
