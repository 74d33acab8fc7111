"""The line that says how far a job is."""

from __future__ import annotations

import time
from io import StringIO

import pytest
from rich.console import Console

from scurry.cli import status
from scurry.cli.status import StatusLine, describe
from scurry.common.waiting import Wait
from scurry.engine.progress import Progress


def progress(**changes: object) -> Progress:
    found = Progress(
        batch=7,
        counters={"read:a": 3_000, "read:b": 500, "written:s": 1_200},
        last={"read:a": 900, "read:b": 100, "in:x": 5},
        last_seconds=0.5,
        gauges={"state_entries": 4_321},
        watermarks={"a": 1_760_000_000_000, "b": (1 << 63) - 1},
    )
    for name, value in changes.items():
        setattr(found, name, value)
    return found


def test_all_there_is_to_say() -> None:
    assert describe(progress(restarts=2)) == (
        "batch 7  3,500 read, 1,200 written  2,000/s  watermark 2025-10-09 08:53:20  "
        "4,321 state entries  2 restarts"
    )


def test_a_job_that_has_only_just_begun() -> None:
    assert describe(Progress()) == "starting"


def test_whom_it_waits_for() -> None:
    wait = Wait("Kafka at b:9092", "read t-0", "refused", time.time() - 12.2)
    text = describe(Progress(waiting=[wait]))
    assert text == "starting  waiting for Kafka at b:9092 to read t-0, since 12 s: refused"


@pytest.mark.parametrize("mark", [1 << 59, -(1 << 59)])
def test_a_watermark_beyond_the_calendar(mark: int) -> None:
    assert f"watermark {mark}" in describe(progress(watermarks={"a": mark}))


def test_without_a_terminal_there_is_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    out = StringIO()
    line = StatusLine(Console(file=out, width=200))
    with line.shown():
        line.on_progress(progress())
        line.on_progress(progress(batch=8))
        monkeypatch.setattr(status, "_PAUSE_SECONDS", 0)
        line.on_progress(progress(batch=9))
    assert [text.split("  ")[0] for text in out.getvalue().splitlines()] == ["batch 7", "batch 9"]


def test_on_a_terminal_the_line_is_redrawn_and_goes_away() -> None:
    out = StringIO()
    line = StatusLine(Console(file=out, width=200, force_terminal=True))
    with line.shown():
        line.on_progress(progress())
        time.sleep(0.4)
    assert "batch 7" in out.getvalue()
    assert out.getvalue().rstrip().endswith("\x1b[2K")
