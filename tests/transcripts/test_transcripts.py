"""Transcripts: what goes into windows, and what comes out, step by step.

A transcript is replayed on one operator, straight and with a restart after every step; on a whole
program without a JVM, as one micro-batch and one element a batch; where its order does not matter,
reversed; and a few of them on Spark.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from scurry.common import Time, WatermarkStrategy
from scurry.common.types import Row
from scurry.common.watermark_strategy import WatermarkGenerator, WatermarkOutput
from scurry.datastream import OutputTag, ProcessWindowFunction, StreamExecutionEnvironment
from scurry.datastream import window as windows
from scurry.datastream.window import AccumulationMode, CountWindow, GlobalWindow
from scurry.testing import ListSink, LocalJob, OperatorHarness, run_local

LATE = OutputTag("late")
LONG_AGO = -(10**15)
KINDS = {"INSERT": "+I", "UPDATE_BEFORE": "-U", "UPDATE_AFTER": "+U", "DELETE": "-D"}
NAMES = {name: getattr(windows, name) for name in windows.__all__} | {"ms": Time.milliseconds}
TRANSCRIPTS = [
    pytest.param(transcript, id=f"{path.stem}: {transcript['name']}")
    for path in sorted(Path(__file__).parent.glob("*.yaml"))
    for transcript in yaml.safe_load(path.read_text())
]


class Show(ProcessWindowFunction):
    """A pane as text."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        window, pane = context.window(), context.pane()
        if isinstance(window, GlobalWindow):
            name = "global"
        elif isinstance(window, CountWindow):
            name = f"#{window.id}"
        else:
            name = f"{window.start}-{window.end}"
        shown = " ".join(str(element[1]) for element in elements)
        assert pane.is_first == (pane.index == 0)
        yield key, f"{name}: {shown} {pane.timing.value}/{pane.index}"


def build(stream: Any, transcript: dict[str, Any]) -> Any:
    """The transcript's windowing on a stream of (key, value, timestamp, watermark before)."""

    def value(text: str) -> Any:
        return eval(text, dict(NAMES))

    windowed = stream.key_by(lambda element: element[0]).window(value(transcript["window"]))
    if "trigger" in transcript:
        windowed = windowed.trigger(value(transcript["trigger"]))
    if "evictor" in transcript:
        windowed = windowed.evictor(value(transcript["evictor"]))
    mode = AccumulationMode[transcript.get("mode", "ACCUMULATING")]
    return (
        windowed.allowed_lateness(transcript.get("lateness", 0))
        .side_output_late_data(LATE)
        .accumulation_mode(mode)
        .process(Show())
    )


def text_of(result: Any) -> str:
    if isinstance(result, Row):
        return f"{KINDS[result.get_row_kind().name]} {result[1]}"
    return str(result[1])


def steps_of(transcript: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for step in transcript["steps"]:
        yield from step.items()


def element(text: str) -> tuple[int, int]:
    value, _, stamp = str(text).partition("@")
    return int(value), int(stamp)


def normal(panes: list[str], ordered: bool) -> list[str]:
    """Panes with their elements sorted, if the order of arrival was changed."""
    if ordered:
        return panes
    found = []
    for pane in panes:
        name, _, rest = pane.partition(": ")
        *elements, last, timing = rest.replace("on time", "on_time").split(" ")
        found.append(f"{name}: {' '.join([*sorted([*elements, last]), timing])}")
    return found


def replay(transcript: dict[str, Any], restart: bool = False, backwards: bool = False) -> None:
    """Step by step on one operator."""
    env = StreamExecutionEnvironment.get_execution_environment()
    result = build(env.from_collection([]), transcript)
    with OperatorHarness.of(result) as harness:
        checked = 0
        for action, given in steps_of(transcript):
            if action == "add":
                for text in reversed(given) if backwards else given:
                    value, stamp = element(text)
                    harness.process_element(("k", value, stamp), stamp)
            elif action == "clock":
                harness.set_processing_time(given)
            elif action == "late":
                assert [late[1] for late in harness.side_output(LATE)] == given
                assert restart or harness.counter("late") == len(given)
            else:
                if action != "expect":
                    harness.process_watermark(given if action == "watermark" else (1 << 63) - 1)
                if action != "watermark":
                    new = [text_of(row) for row in harness.output[checked:]]
                    assert normal(new, not backwards) == normal(given, not backwards)
                    checked = len(harness.output)
            if restart:
                harness.checkpoint()
                harness.restart(lose_local_state=True)
        assert harness.timers() == []


@pytest.mark.parametrize("transcript", TRANSCRIPTS)
def test_step_by_step(transcript: dict[str, Any]) -> None:
    replay(transcript)


@pytest.mark.parametrize("transcript", TRANSCRIPTS)
def test_with_a_restart_after_every_step(transcript: dict[str, Any]) -> None:
    replay(transcript, restart=True)


@pytest.mark.parametrize(
    "transcript", [param for param in TRANSCRIPTS if param.values[0].get("free_order")]
)
def test_backwards(transcript: dict[str, Any]) -> None:
    replay(transcript, backwards=True)


def program(transcript: dict[str, Any], env: StreamExecutionEnvironment) -> Any:
    """The transcript as a program over two keys; ticks move the watermark and are dropped."""
    records = []
    mark = LONG_AGO
    for action, given in steps_of(transcript):
        if action == "watermark":
            mark = given
            records.append(("tick", 0, 0, mark))
        elif action == "add":
            pairs = [element(text) for text in given]
            records += [(key, *pair, mark) for pair in pairs for key in "ab"]
    return build(marked(env.from_collection(records)), transcript)


def marked(stream: Any) -> Any:
    """A stream of (key, value, timestamp, watermark before) with these times; ticks are dropped."""
    strategy = WatermarkStrategy.for_generator(Marks).with_timestamp_assigner(
        lambda record, _: record[2]
    )
    timed = stream.assign_timestamps_and_watermarks(strategy)
    return timed.filter(lambda record: record[0] != "tick")


class Marks(WatermarkGenerator):
    """The watermark is what the last record says."""

    def on_event(self, event: Any, timestamp: int, output: WatermarkOutput) -> None:
        if event[3] > LONG_AGO:
            output.emit_watermark(event[3])

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass


def expected_of(transcript: dict[str, Any]) -> tuple[list[str], list[int]]:
    panes: list[str] = []
    late: list[int] = []
    for action, given in steps_of(transcript):
        if action in ("expect", "end"):
            panes += given
        elif action == "late":
            late = given
    return panes, late


@pytest.mark.parametrize("cuts", [None, 1, 3])
@pytest.mark.parametrize(
    "transcript",
    [p for p in TRANSCRIPTS if not any(a == "clock" for a, _ in steps_of(p.values[0]))],
)
def test_as_a_program(transcript: dict[str, Any], cuts: int | None) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    result = program(transcript, env)
    main, late = ListSink(), ListSink()
    result.sink_to(main)
    result.get_side_output(LATE).sink_to(late)
    run_local(env, cuts=cuts)
    panes, dropped = expected_of(transcript)
    for key in "ab":
        assert [text_of(row) for row in main.values if row[0] == key] == panes
        assert [row[1] for row in late.values if row[0] == key] == dropped


@pytest.mark.parametrize("cut", [1, 3])
@pytest.mark.parametrize("transcript", [p for p in TRANSCRIPTS if p.values[0].get("spark")])
def test_two_workers_that_take_turns(transcript: dict[str, Any], cut: int) -> None:
    """Each worker keeps what it has in memory, and finds that the other one has moved on."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    sink = ListSink()
    program(transcript, env).sink_to(sink)
    with LocalJob(env._compile(None)) as job:
        workers = itertools.cycle([(job._hosts, job._ingress), ({}, {})])
        for job._hosts, job._ingress in workers:
            if not job.step(cut):
                break
    for key in "ab":
        mine = [text_of(row) for row in sink.values if row[0] == key]
        assert mine == expected_of(transcript)[0]
