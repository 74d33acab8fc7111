"""``scurry demo``: the ready-made application that shows a whole job at work.

The application finds card fraud in a generated stream of payments. It needs no broker and no
file, and the same seed gives the same stream. This module only hands the two options on.
"""

from __future__ import annotations

import importlib
import sys

import click

from scurry.cli.failures import readable_failures


@click.command()
@click.option(
    "--events",
    type=click.IntRange(min=1),
    default=300_000,
    show_default=True,
    metavar="N",
    help="How many payments to generate.",
)
@click.option(
    "--seed", type=int, default=7, show_default=True, metavar="S", help="Seed of the generator."
)
def demo(events: int, seed: int) -> None:
    """Find card fraud in a generated stream of payments."""
    with readable_failures():
        application = importlib.import_module("scurry.apps.card_fraud")
        code: int = application.main(events, seed)
    sys.exit(code)
