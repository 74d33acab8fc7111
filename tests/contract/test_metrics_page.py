"""The metrics that a snapshot has are those that are documented."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
import yaml
from scripts import metrics_page

from scurry.common.job_metrics import (
    JobMetrics,
    OperatorMetrics,
    SlotMetrics,
    TaskMetrics,
    definitions,
)
from scurry.common.waiting import Wait
from scurry.engine.prometheus import as_text

OPERATING = Path(__file__).parents[2] / "docs" / "howto" / "operating.md"
#: Fields that say what a snapshot is of, and those that hold other fields.
NO_METRICS = {
    "slot", "stage", "uid", "name", "kind", "user", "slots", "job_id", "state", "started", "taken",
    "parallelism", "engine", "last_failure", "checkpoint_parts", "phases", "waiting", "tasks",
    "operators",
}  # fmt: skip


def test_the_page_is_written_from_the_definitions() -> None:
    assert metrics_page.PAGE.read_text(encoding="utf-8") == metrics_page.page(), "run `make docs`"


@pytest.mark.parametrize("kind", [SlotMetrics, OperatorMetrics, TaskMetrics, JobMetrics])
def test_every_field_is_a_metric_that_is_on_the_page(kind: type[msgspec.Struct]) -> None:
    page = metrics_page.page()
    metrics = {each.field: each for each in definitions(kind)}
    assert metrics.keys() | NO_METRICS >= {field.name for field in msgspec.structs.fields(kind)}
    assert not [each.name for each in metrics.values() if f"| `{each.name}` |" not in page]


def test_the_alerts_ask_for_metrics_that_there_are() -> None:
    (rules,) = re.findall(r"^```yaml\n(groups:.*?)^```$", OPERATING.read_text(), re.M | re.S)
    names = {
        name
        for group in yaml.safe_load(rules)["groups"]
        for rule in group["rules"]
        for name in re.findall(r"scurry_\w+", rule["expr"])
    }
    assert len(names) >= 6
    slot = SlotMetrics(slot=0, watermark_lag=1, current_output_watermark=1)
    operator = OperatorMetrics(
        uid="u", name="n", stage=0, kind="source", pending_records=1, pending_files=1, slots=(slot,)
    )
    task = TaskMetrics(stage=0, slot=0)
    wait = (Wait("s", "p", "r", 0.0),)
    text = as_text(
        JobMetrics(job_id="j", name="n", tasks=(task,), operators=(operator,), waiting=wait)
    )
    assert not [name for name in names if f"\n{name}{{" not in text]
