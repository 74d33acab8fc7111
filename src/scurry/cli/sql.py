"""``scurry sql``: statements from a file, from the command line, or from a prompt."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from scurry.cli.run import parse_conf

#: The exit code that shells know for Ctrl-C.
_INTERRUPTED = 130


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
    if file is None and text is None and sys.stdin.isatty():
        _interactive(batch)
        return
    from scurry.table.client.session import ClientSession

    session = ClientSession(sys.stdout, batch=batch)
    scripts = [(file.read_text(), str(file))] if file is not None else []
    if text is not None or file is None:
        scripts.append((sys.stdin.read() if text is None else text, ""))
    well = all(session.run_script(*script) for script in scripts)
    well = session.wait_for_jobs() and well
    sys.exit(_INTERRUPTED if session.interrupted else 0 if well else 1)


def _interactive(batch: bool) -> None:
    try:
        from scurry.table.client.prompt import interact
    except ImportError:
        raise click.ClickException(
            "the prompt needs the package prompt_toolkit: pip install 'scurry[sql]'. Statements "
            "can be given with -f or -e without it."
        ) from None
    interact(batch)
