"""``scurry doctor``: examine this machine and say what would keep a job from running.

This module only presents the findings of :mod:`scurry.cli.checks`: as a table on a terminal, as
plain lines where the output is piped, or as one JSON object.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict

import click

from scurry.cli.checks import Finding, Verdict, examine
from scurry.cli.kafka_check import check_kafka
from scurry.cli.machine import ThisMachine

_COLOURS = {Verdict.OK: "green", Verdict.WARN: "yellow", Verdict.FAIL: "red"}


def summary(findings: Sequence[Finding]) -> str:
    """The last line: how many findings there are of each verdict."""
    counts = Counter(finding.verdict for finding in findings)
    if not counts[Verdict.FAIL] and not counts[Verdict.WARN]:
        return f"All {len(findings)} checks are ok."
    return ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict)


def as_json(findings: Sequence[Finding]) -> str:
    """One object: ``ok`` (nothing failed) and the list of ``checks``."""
    ok = all(finding.verdict is not Verdict.FAIL for finding in findings)
    return json.dumps({"ok": ok, "checks": [asdict(finding) for finding in findings]}, indent=2)


def as_lines(findings: Sequence[Finding]) -> str:
    """Plain text, one finding a line, its remedy indented below it."""
    width = max(len(finding.name) for finding in findings)
    lines = []
    for finding in findings:
        lines.append(f"{finding.verdict:<4}  {finding.name:<{width}}  {finding.found}")
        if finding.remedy:
            lines.append(f"{'':<4}  {'':<{width}}  -> {finding.remedy}")
    return "\n".join([*lines, summary(findings)])


def _print_table(findings: Sequence[Finding]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("", "check", "found", "what to do")
    for finding in findings:
        table.add_row(
            Text(finding.verdict, style=_COLOURS[finding.verdict]),
            *(Text(text) for text in (finding.name, finding.found, finding.remedy)),
        )
    console = Console()
    console.print(table)
    console.print(Text(summary(findings)))


@click.command()
@click.option("--json", "wants_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--kafka", multiple=True, metavar="HOST:PORT", help="Check that this Kafka can be used, too."
)
@click.option("--postgres", metavar="DSN", help="Also check a database that jobs read or write.")
@click.option("--rabbitmq", metavar="URI", help="Also check a RabbitMQ that jobs read or write.")
def doctor(
    wants_json: bool, kafka: tuple[str, ...], postgres: str | None, rabbitmq: str | None
) -> None:
    """Check that this machine can run jobs; exit with 1 if it cannot."""
    findings = [*examine(ThisMachine()), *map(check_kafka, kafka)]
    if postgres is not None:
        from scurry.cli.postgres_check import check_postgres

        findings.append(check_postgres(postgres))
    if rabbitmq is not None:
        from scurry.cli.rabbitmq_check import check_rabbitmq

        findings.append(check_rabbitmq(rabbitmq))
    if wants_json:
        click.echo(as_json(findings))
    elif sys.stdout.isatty():
        _print_table(findings)
    else:
        click.echo(as_lines(findings))
    if any(finding.verdict is Verdict.FAIL for finding in findings):
        sys.exit(1)
