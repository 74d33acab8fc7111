"""Write docs/reference/metrics.md, the page of all metrics, from the fields of a snapshot.

Usage:
    python scripts/metrics_page.py           (what `make docs` runs)
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec

from scurry.common.job_metrics import (
    Definition,
    JobMetrics,
    OperatorMetrics,
    SlotMetrics,
    TaskMetrics,
    definitions,
)

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "metrics.md"

INTRODUCTION = """\
<!-- Written by scripts/metrics_page.py from src/scurry/common/job_metrics.py; do not edit. -->

# Metrics

All metrics that every job has. Where Flink has a metric, it has Flink's name. In Python the
names are in snake_case (`JobClient.get_job_metrics().operator("uid").num_records_in`), in the
JSON of `scurry status --json` they are as here, and for Prometheus they have a prefix that says
what they belong to (`scurry_operator_numRecordsIn`). How to read them, and what to be alerted
by, [operating a job](../howto/operating.md) says.

A metric is as of the last micro-batch, and counts from the start of the job's process. Rates,
and shares of time, are those of the last minute. A micro-batch that fails and is run again
counts once.
"""

SCOPES: tuple[tuple[str, str, str, type[msgspec.Struct]], ...] = (
    (
        "Of an operator in a slot",
        "scurry_operator_",
        """\
By slot, which is Flink's subtask, and for the operator as a whole, for which *over slots* says
how. For Prometheus there is one sample for each slot, with the labels `job_id`, `job_name`,
`operator_id` (the uid), `operator_name` and `subtask_index`.""",
        SlotMetrics,
    ),
    (
        "Of a source as a whole",
        "scurry_operator_",
        """\
Where the source can tell. The labels are the same, without `subtask_index`.""",
        OperatorMetrics,
    ),
    (
        "Of a task",
        "scurry_task_",
        """\
A task is all that runs in one slot of one stage: its operators, and decoding, merging, encoding
and committing state around them. Labels: `job_id`, `job_name`, `stage`, `subtask_index`. Stage
0 reads the sources.""",
        TaskMetrics,
    ),
    (
        "Of the job",
        "scurry_job_",
        """\
Labels: `job_id`, `job_name`. For Prometheus there are three more: `lastCheckpointPart` (label
`part`: `state`, `sinks`, `epoch`) and `lastMicroBatchPhase` (label `phase`), both in
milliseconds, and `waitingForServers`, the number of servers that the job cannot reach and waits
for.""",
        JobMetrics,
    ),
)

USER = """\
## Of functions

What functions register with `runtime_context.get_metrics_group()` is in `user` of their
operator, summed over slots, and for Prometheus called `scurry_operator_user_` and its name,
with `_` for all that is no letter or digit. A meter has `_count` and `_rate`, a distribution
`_sum`, `_count`, `_min` and `_max`.
"""


def page() -> str:
    """The whole page."""
    known: set[str] = set()
    sections = []
    for title, prefix, text, kind in SCOPES:
        new = [each for each in definitions(kind) if each.field not in known or kind is TaskMetrics]
        sections.append(_section(title, prefix, text, new, over=kind is SlotMetrics))
        known |= {each.field for each in new}
    return "\n".join([INTRODUCTION, *sections, USER])


def _section(title: str, prefix: str, text: str, metrics: Iterable[Definition], over: bool) -> str:
    more = " over slots |" if over else ""
    lines = [f"## {title}", "", text, "", f"| `{prefix}`... | kind |{more} meaning |"]
    lines.append("|---|---|---|---|" if over else "|---|---|---|")
    for each in metrics:
        how = f" {each.over} |" if over else ""
        lines.append(f"| `{each.name}` | {each.kind} |{how} {each.text} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
