"""Every assigner x trigger x lateness x accumulation mode, against the model.

The cases are in ``matrix/matrix.yaml``. What must come out is computed by the model, for the very
order in which elements go in: as written, reversed, and shuffled between the steps that move a
clock. The three orders are three keys of the same operator. Each case runs on one operator, with a
restart from the checkpoint after every fifth step; and those that need no clock as whole programs,
as one micro-batch and one element a batch.
"""

from __future__ import annotations

import random
import warnings
from collections import defaultdict
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from tests.transcripts import model, model_triggers
from tests.transcripts.test_transcripts import (
    LATE,
    LONG_AGO,
    TRANSCRIPTS,
    build,
    element,
    expected_of,
    marked,
    text_of,
)
from tests.transcripts.test_transcripts import steps_of as steps_as_written

from scurry.datastream import StreamExecutionEnvironment
from scurry.state.local.memory import MemoryStore
from scurry.testing import ListSink, OperatorHarness, run_local

MATRIX = yaml.safe_load((Path(__file__).parent / "matrix" / "matrix.yaml").read_text())
WORLD = {**vars(model), **vars(model_triggers), "ms": int}
MERGING = {name for name, text in MATRIX["assigners"].items() if "Session" in text}
EVENT_TIME = {name for name, text in MATRIX["assigners"].items() if "EventTime" in text}
ORDERS = ["written", "reversed", "shuffled"]
Step = tuple[str, Any]


class Case(NamedTuple):
    assigner: str
    trigger: str
    lateness: int
    mode: str
    evictor: str | None = None

    def transcript(self) -> dict[str, Any]:
        """The case as test_transcripts builds it."""
        found = {
            "name": " / ".join(map(str, self)),
            "window": MATRIX["assigners"][self.assigner],
            "trigger": MATRIX["triggers"][self.trigger],
            "lateness": self.lateness,
            "mode": self.mode,
        }
        if not found["trigger"]:
            del found["trigger"]
        if self.evictor is not None:
            found["evictor"] = MATRIX["evictors"][self.evictor]
        return found


def cases() -> Iterator[Case]:
    for assigner in MATRIX["assigners"]:
        for trigger in MATRIX["triggers"]:
            if trigger == "delta" and assigner in MERGING:
                continue  # refused when the program is built: it cannot merge
            # lateness means nothing to windows of other clocks
            for lateness in MATRIX["lateness"] if assigner in EVENT_TIME else [0, 4]:
                for mode in MATRIX["modes"]:
                    yield Case(assigner, trigger, lateness, mode)


def evicting_cases() -> Iterator[Case]:
    for assigner in MATRIX["assigners"]:
        for trigger in MATRIX["evicting"]:
            for number, evictor in enumerate(MATRIX["evictors"]):
                # discarding is refused together with an evictor
                mode = ("ACCUMULATING", "ACCUMULATING_AND_RETRACTING")[number % 2]
                yield Case(assigner, trigger, 15, mode, evictor)


ALL = [*cases(), *evicting_cases()]
GROUPS: dict[tuple[str, str], list[Case]] = defaultdict(list)
for _case in ALL:
    GROUPS[_case.assigner, _case.trigger].append(_case)


def steps_of(given: list[dict[str, Any]]) -> list[Step]:
    """The steps of the matrix, with a restart after every fifth."""
    found: list[Step] = []
    for number, step in enumerate(given):
        found += step.items()
        if number % 5 == 4:
            found.append(("restart", number % 2 == 0))
    return found


def ordered(steps: list[Step], order: str) -> list[Step]:
    """The steps with the elements of each in another order."""
    found: list[Step] = []
    for number, (action, given) in enumerate(steps):
        if action == "add" and order == "reversed":
            given = given[::-1]
        elif action == "add" and order == "shuffled":
            given = random.Random(number).sample(given, len(given))
        found.append((action, given))
    return found


def modelled(
    transcript: dict[str, Any], steps: list[Step], key: str
) -> tuple[list[str], list[int]]:
    """What the model says: panes, and late elements."""
    assigner = eval(transcript["window"], dict(WORLD))
    trigger = eval(transcript.get("trigger", assigner.default), dict(WORLD))
    evictor = eval(transcript.get("evictor", "None"), dict(WORLD))
    mode = transcript.get("mode", "ACCUMULATING")
    found = model.Model(assigner, trigger, transcript.get("lateness", 0), mode, evictor)

    def pair(text: str) -> tuple[Any, int]:
        value, stamp = element(text)
        return (key, value, stamp), stamp

    model.replayed(found, steps, pair)
    return found.panes, [late[1] for late in found.late]


def on_operator(case: Case) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    transcript = case.transcript()
    plans = {order: ordered(steps_of(MATRIX["steps"]), order) for order in ORDERS}
    output: list[Any] = []
    seen = 0
    with OperatorHarness.of(build(env.from_collection([]), transcript)) as harness:
        for number, (action, given) in enumerate(plans["written"]):
            if action == "add":
                for place in range(len(given)):
                    for order in ORDERS:
                        value, stamp = element(plans[order][number][1][place])
                        harness.process_element((order, value, stamp), stamp)
            elif action == "clock":
                harness.set_processing_time(given)
            elif action == "restart":
                output += harness.output[seen:]
                harness.checkpoint()
                # what the new micro-batch has begun with is lost, and comes again
                seen = len(harness.output)
                harness.restart(lose_local_state=given)
            else:
                harness.process_watermark(given if action == "watermark" else model.END)
        output += harness.output[seen:]
        for order in ORDERS:
            panes = [text_of(row) for row in output if row[0] == order]
            late = [row[1] for row in harness.side_output(LATE) if row[0] == order]
            assert (panes, late) == modelled(transcript, plans[order], order), (order, case)
        assert harness.timers() == []


@pytest.fixture
def in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scurry.testing.operator_harness.LocalStore", MemoryStore)
    warnings.simplefilter("ignore")


@pytest.mark.usefixtures("in_memory")
@pytest.mark.filterwarnings("ignore:.*NeverTrigger")
@pytest.mark.parametrize(("assigner", "trigger"), list(GROUPS))
def test_on_an_operator(assigner: str, trigger: str) -> None:
    for case in GROUPS[assigner, trigger]:
        on_operator(case)


@pytest.mark.parametrize("transcript", TRANSCRIPTS)
def test_the_model_agrees_with_transcripts_written_by_hand(transcript: dict[str, Any]) -> None:
    """The hand-written panes are what the model is tested by."""
    assert modelled(transcript, list(steps_as_written(transcript)), "k") == expected_of(transcript)


def needs_no_clock(case: Case) -> bool:
    """Whether the case is the same however long it takes."""
    texts = MATRIX["assigners"][case.assigner], MATRIX["triggers"][case.trigger]
    return not any("ProcessingTime" in text for text in texts)


PROGRAMS: dict[str, list[Case]] = defaultdict(list)
for _case in filter(needs_no_clock, ALL):
    if _case.lateness != 4 or _case.assigner not in EVENT_TIME:
        PROGRAMS[_case.assigner].append(_case)


def event_steps(order: str) -> list[Step]:
    return [step for step in ordered(steps_of(MATRIX["steps"]), order) if step[0] in STEPS]


STEPS = ("add", "watermark", "end")


def records() -> list[Any]:
    """The input of a program: three keys, and ticks that move the watermark."""
    found: list[Any] = []
    mark = LONG_AGO
    plans = {order: event_steps(order) for order in ORDERS}
    for number, (action, given) in enumerate(plans["written"]):
        if action == "watermark":
            mark = given
            found.append(("tick", 0, 0, mark))
        elif action == "add":
            for order in ORDERS:
                texts = plans[order][number][1]
                found += [(order, *element(text), mark) for text in texts]
    return found


def labelled(stream: Any, number: int, kind: str) -> Any:
    if kind == "late":
        return stream.map(lambda row: (number, "late", row[0], row[1]))
    return stream.map(lambda row: (number, "pane", row[0], text_of(row)))


def program(env: StreamExecutionEnvironment, chosen: list[Case]) -> Any:
    """Several cases over one input, their results numbered."""
    stream = marked(env.from_collection(records()))
    parts = []
    for number, case in enumerate(chosen):
        result = build(stream, case.transcript())
        parts.append(labelled(result, number, "pane"))
        parts.append(labelled(result.get_side_output(LATE), number, "late"))
    return reduce(lambda a, b: a.union(b), parts)


def check(rows: list[Any], chosen: list[Case]) -> None:
    """Compare what a program gave with the model."""
    found: dict[Any, list[Any]] = defaultdict(list)
    for number, kind, order, what in rows:
        found[number, kind, order].append(what)
    for number, case in enumerate(chosen):
        for order in ORDERS:
            panes, late = modelled(case.transcript(), event_steps(order), order)
            assert found[number, "pane", order] == panes, (case, order)
            assert found[number, "late", order] == late, (case, order)


@pytest.mark.filterwarnings("ignore:.*NeverTrigger")
@pytest.mark.parametrize("cuts", [None, 1])
@pytest.mark.parametrize("assigner", list(PROGRAMS))
def test_as_programs(assigner: str, cuts: int | None) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    sink = ListSink()
    chosen = PROGRAMS[assigner][:: 3 if cuts is None else 8]
    program(env, chosen).sink_to(sink)
    run_local(env, cuts=cuts)
    check(sink.values, chosen)
