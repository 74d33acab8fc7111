"""Composed triggers do what Apache Beam's do.

`beam.json` holds random transcripts with what Beam emits after each step, as
`scripts/beam_triggers.py` writes it, with Beam run beside. Where the two differ on purpose is
written in `docs/concepts/windows.md`, and no such transcript is among them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scripts.beam_triggers import comparable
from tests.transcripts.test_transcripts import Show

from scurry.common import Time
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream import window as windows
from scurry.datastream.window import AccumulationMode
from scurry.testing import OperatorHarness

TRANSCRIPTS = json.loads(Path(__file__).with_name("beam.json").read_text(encoding="utf-8"))
LATENESS = 1000


def built(form: Any) -> Any:
    """A trigger written as nested lists."""
    if not isinstance(form, list):
        return form
    return getattr(windows, form[0])(*map(built, form[1:]))


def assigner(kind: str, *sizes: int) -> Any:
    made = {
        "tumbling": windows.TumblingEventTimeWindows.of,
        "sliding": windows.SlidingEventTimeWindows.of,
        "session": windows.EventTimeSessionWindows.with_gap,
    }
    return made[kind](*map(Time.milliseconds, sizes))


def panes_of(transcript: dict[str, Any]) -> list[list[str]]:
    """What each step emits, as Beam's panes are written: sorted, and so are their values."""
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = (
        env.from_collection([])
        .key_by(lambda element: element[0])
        .window(assigner(*transcript["window"]))
        .trigger(built(transcript["trigger"]))
        .allowed_lateness(LATENESS)
        .accumulation_mode(AccumulationMode[transcript["mode"]])
        .process(Show())
    )
    found, seen = [], 0
    with OperatorHarness.of(stream) as harness:
        for action, *given in transcript["steps"]:
            if action == "add":
                harness.process_element(("k", *given), given[1])
            elif action == "watermark":
                harness.process_watermark(given[0])
            else:
                harness.set_processing_time(given[0])
            found.append(sorted(_sorted(row[1]) for row in harness.output[seen:]))
            seen = len(harness.output)
    return found


def _sorted(pane: str) -> str:
    bounds, _, rest = pane.partition(": ")
    *values, timing = rest.replace("on time", "on_time").split(" ")
    shown = " ".join(sorted(values, key=lambda value: int(value or -1)))
    return f"{bounds}: {shown} {timing}".replace("on_time", "on time")


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda transcript: str(transcript["seed"]))
def test_panes_are_those_of_beam(transcript: dict[str, Any]) -> None:
    assert comparable(transcript, panes_of(transcript)) == transcript["expect"]
