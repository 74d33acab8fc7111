"""What ``scurry diff`` prints."""

from __future__ import annotations

import click
import msgspec
from rich.console import Console
from rich.table import Table

from scurry.checkpoint.changes import Outcome, StateChange, compare, rescaling
from scurry.checkpoint.contents import read_contents
from scurry.checkpoint.savepoint_manifest import is_savepoint, read_manifest
from scurry.cli.shown import plain
from scurry.common.any_paths import AnyPath
from scurry.engine.declared_states import declared_states
from scurry.runtime.specs import JobSpec


def show_changes(place: AnyPath, job: JobSpec, as_json: bool) -> bool:
    """Print what becomes of the state in ``place`` if ``job`` goes on with it; whether something
    would be dropped."""
    held = read_manifest(place).contents if is_savepoint(place) else read_contents(str(place))
    declared, failures = declared_states(job)
    found = compare(job, held, declared)
    if as_json:
        for change in found:
            click.echo(msgspec.json.encode(change).decode())
    else:
        _print(found, rescaling(job, held))
        for uid, failure in failures.items():
            click.echo(
                f"What states {plain(uid)} asks for is not known: its functions cannot be opened "
                f"here. {plain(failure)}"
            )
    return any(change.outcome in (Outcome.DROPPED, Outcome.REFUSED) for change in found)


def _print(found: list[StateChange], dealt_out: list[str]) -> None:
    console = Console(highlight=False, markup=False)
    if dealt_out:
        console.print(f"State is dealt out anew: {', '.join(dealt_out)}.", soft_wrap=True)
    table = Table("", "uid", "operator", "state", "how", box=None, pad_edge=False)
    for change in found:
        parts = (change.uid, change.operator, change.state, change.how)
        table.add_row(change.outcome.value, *map(plain, parts))
    console.print(table)
    told = dict.fromkeys(each.uid for each in found if each.outcome is Outcome.DROPPED)
    if told:
        options = " ".join(f"--allow-dropped {plain(uid)}" for uid in told)
        console.print(f"To start nevertheless: scurry run {options} ...", soft_wrap=True)
