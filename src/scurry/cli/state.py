"""``scurry state``: what a running job holds, asked for from the shell.

The job has to answer queries (``queryable-state.enable``). Its address is found where the job
writes how it is doing. The token, if the job wants one, is taken from the environment, where other
users cannot see it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from scurry.cli.shown import plain

if TYPE_CHECKING:
    from scurry.queryable import QueryableStateClient

TOKEN = "SCURRY_QUERY_TOKEN"


@click.group()
def state() -> None:
    """Ask a running job for its queryable states.

    JOB is a checkpoint directory, the id of a job, a part of its name, or the address of its
    queries with its name, as in http://10.0.0.5:9067/counts. KEY is JSON, or a plain word: 42 is a
    number, alice and '"42"' are texts, '["a", 1]' is a tuple. If the job wants a token, put it into
    the environment as SCURRY_QUERY_TOKEN.
    """


@state.command()
@click.argument("job")
@click.argument("name")
@click.argument("key")
@click.option("--entry", help="Of a map state, the entry of the key.")
def get(job: str, name: str, key: str, entry: str | None) -> None:
    """Print what the state NAME has for KEY, as a line of JSON."""
    with _asking(job) as client:
        path = f"/{_quoted(name)}/{_quoted(key)}"
        _print(client.fetch(path if entry is None else f"{path}?entry={_quoted(entry)}"))


@state.command("list")
@click.argument("job")
def list_states(job: str) -> None:
    """Print the queryable states of JOB, a line of JSON each."""
    with _asking(job) as client:
        for each in client.states():
            _print(each)


@state.command()
@click.argument("job")
@click.argument("name")
@click.option("--prefix", help="Only keys that begin with this text.")
@click.option("--from", "first", help="Only keys from this number or text on.")
@click.option("--to", "last", help="Only keys before this number or text.")
@click.option(
    "--limit", type=click.IntRange(min=0), default=100, show_default=True, help="0 prints all."
)
def scan(
    job: str, name: str, prefix: str | None, first: str | None, last: str | None, limit: int
) -> None:
    """Print what the state NAME has for keys in order, a line of JSON each."""
    from urllib.parse import urlencode

    bounds = {"prefix": prefix, "from": first, "to": last}
    given = {key: value for key, value in bounds.items() if value is not None}
    with _asking(job) as client:
        left, after = limit or None, dict[str, str]()
        while left is None or left > 0:
            page = 1000 if left is None else min(left, 1000)
            asked = urlencode({**given, **after, "limit": page})
            told = client.fetch(f"/{_quoted(name)}?{asked}")
            for row in told["rows"]:
                _print(row)
            if told["next"] is None:
                return
            left, after = None if left is None else left - page, {"after": told["next"]}


@contextmanager
def _asking(job: str) -> Iterator[QueryableStateClient]:
    """A client for the job that ``job`` names; errors are one message."""
    import os

    # kept out of the start of all other commands
    from scurry.common.errors import ScurryError
    from scurry.queryable import QueryableStateClient

    address, name = _address(job)
    try:
        with QueryableStateClient(address, name, os.environ.get(TOKEN, "")) as client:
            yield client
    except ScurryError as failure:
        raise click.ClickException(plain(str(failure))) from failure


def _address(job: str) -> tuple[str, str]:
    from scurry.cli.job_tables import find_jobs

    if job.startswith(("http://", "https://")):
        address, _, name = job.rpartition("/")
        return address, name
    found = find_jobs(job)
    if len(found) > 1:
        names = ", ".join(f"{each.metrics.name} ({each.metrics.job_id[:8]})" for each in found)
        raise click.ClickException(f"{job!r} names several jobs: {plain(names)}. Give an id.")
    if not found[0].queries:
        raise click.ClickException(
            f"The job {plain(found[0].metrics.name)!r} answers no queries. Set "
            "queryable-state.enable in its configuration."
        )
    return found[0].queries, found[0].metrics.job_id


def _quoted(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")


def _print(content: dict[str, Any]) -> None:
    import json

    click.echo(json.dumps(content, ensure_ascii=False))
