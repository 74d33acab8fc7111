"""Windows changed under the same uid: refused, or exactly what Flink would do.

Every assigner, trigger, function, lateness, evictor and accumulation mode becomes every other, for
several windowings. A program runs some micro-batches, goes on as the changed one, and ends. Either
the change is refused, with a message that names it, or results and late elements are those of a
model in which open windows end as they were, and new ones are as the program says now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import permutations
from typing import Any

import pytest
from tests.transcripts.changes import (
    BEHIND,
    CUT,
    EVENTS,
    FUNCTIONS,
    SPLIT,
    TICK,
    ChangingModel,
    Windowing,
    compiled,
)

from scurry.checkpoint.claims import Standing, claim_state
from scurry.checkpoint.epochs import Epoch
from scurry.common.errors import StateError
from scurry.runtime.specs import JobSpec
from scurry.testing import ListSink, LocalJob

ASSIGNERS = [
    "TumblingEventTimeWindows.of(ms(10))",
    "TumblingEventTimeWindows.of(ms(20))",
    "TumblingEventTimeWindows.of(ms(10), ms(3))",
    "SlidingEventTimeWindows.of(ms(20), ms(10))",
    "SlidingEventTimeWindows.of(ms(20), ms(5))",
    "EventTimeSessionWindows.with_gap(ms(4))",
    "EventTimeSessionWindows.with_gap(ms(9))",
    "EventTimeSessionWindows.with_dynamic_gap(lambda event: event[2])",
    "TumblingProcessingTimeWindows.of(ms(10))",
    "SlidingProcessingTimeWindows.of(ms(20), ms(10))",
    "ProcessingTimeSessionWindows.with_gap(ms(9))",
    "GlobalWindows.create()",
    "CountTumblingWindowAssigner.of(3)",
    "CountTumblingWindowAssigner.of(5)",
    "CountSlidingWindowAssigner.of(4, 2)",
    "OwnWindows()",
    "OtherWindows()",
]
TRIGGERS = [
    "",
    "CountTrigger.of(2)",
    "CountTrigger.of(3)",
    "PurgingTrigger.of(CountTrigger.of(2))",
    "PurgingTrigger.of(EventTimeTrigger.create())",
    "ContinuousEventTimeTrigger.of(ms(3))",
    "ContinuousEventTimeTrigger.of(ms(4))",
    "ContinuousProcessingTimeTrigger.of(ms(5))",
    "ProcessingTimeTrigger.create()",
    "AfterCount(2)",
    "Repeatedly(AfterCount(2))",
    "AfterWatermark(early=AfterCount(2), late=AfterCount(1))",
    "NeverTrigger()",
]
DELTA = "DeltaTrigger.of(2, delta)"
EVICTORS = ["", "CountEvictor.of(2)", "CountEvictor.of(3, True)", "TimeEvictor.of(ms(5))"]
EVICTORS += ["DeltaEvictor.of(3, delta)"]
MODES = ["ACCUMULATING", "DISCARDING", "ACCUMULATING_AND_RETRACTING"]
LATENESS = [0, 5, 15]
TUMBLING, _, _, SLIDING, _, SESSIONS, *_ = ASSIGNERS
ALIGNED = [TUMBLING, SLIDING, SESSIONS]


def cases() -> Iterator[tuple[str, Windowing, Windowing]]:
    def changed(what: str, name: str, values: Any, *others: Windowing) -> Iterator[Any]:
        for base in others:
            for one, other in permutations(values, 2):
                yield what, replace(base, **{name: one}), replace(base, **{name: other})

    count, early = TRIGGERS[1], TRIGGERS[5]
    everywhere = [Windowing(assigner) for assigner in ALIGNED]
    own_trigger = [replace(one, trigger=early) for one in everywhere]
    late = [replace(one, lateness=10) for one in (*everywhere, *own_trigger)]
    by_window = Windowing(trigger=count)
    yield from changed("", "assigner", ASSIGNERS, Windowing(function="reduce"), by_window)
    yield from changed("trigger", "trigger", [*TRIGGERS, DELTA], Windowing())
    yield from changed("trigger", "trigger", TRIGGERS[:9], Windowing(SESSIONS, function="reduce"))
    yield from changed("trigger", "trigger", TRIGGERS[:6], late[1], Windowing(ASSIGNERS[8]))
    evicting = Windowing(evictor=EVICTORS[1])
    bases = [*everywhere, own_trigger[0], own_trigger[2], late[1], evicting]
    yield from changed("function", "function", FUNCTIONS, *bases)
    for function in ("process", "reduce", "built-in"):
        bases = [replace(one, function=function) for one in (*everywhere, *own_trigger)]
        yield from changed("lateness", "lateness", LATENESS, *bases)
    yield from changed("evictor", "evictor", EVICTORS, *everywhere, own_trigger[0])
    yield from changed("accumulation", "mode", MODES, *everywhere, *own_trigger)
    built_in = [replace(one, function="built-in") for one in (*everywhere, *late)]
    yield from changed("scurry.windows.vectorised", "vectorised", [True, False], *built_in)


CASES = list(dict.fromkeys(cases()))


@cache
def epoch_of(before: Windowing) -> Epoch:
    """Where a program stands when it is to be changed."""
    with LocalJob(compiled(before, ListSink(), ListSink())) as job:
        _first(job)
        return job.epoch()


@cache
def spec_of(after: Windowing) -> JobSpec:
    found: JobSpec = compiled(after, ListSink(), ListSink()).spec
    return found


def refusal_of(before: Windowing, after: Windowing) -> str:
    """What the changed program is told on the checkpoint, empty if nothing."""
    try:
        claim_state(spec_of(after), Standing("memory", epoch_of(before), SPLIT // CUT), False)
    except StateError as refusal:
        return str(refusal)
    return ""


def _first(job: LocalJob) -> None:
    for _ in range(SPLIT // CUT):
        job.clock += TICK
        job.step(CUT)


def run(before: Windowing, after: Windowing) -> tuple[list[str], list[int]]:
    """Results and late elements of a program that is changed."""
    results, late = ListSink(), ListSink()
    with LocalJob(compiled(before, results, late)) as job:
        _first(job)
        job.continue_as(compiled(after, results, late))
        job.clock += TICK
        while job.step(CUT):
            job.clock += TICK
    return results.values, late.values


def flink(before: Windowing, after: Windowing) -> tuple[list[str], list[int]]:
    """The same by the model."""
    model, latest, now = ChangingModel(before), -(1 << 62), 0
    for begin in range(0, len(EVENTS), CUT):
        if begin == SPLIT:
            model.change(after)
        now += TICK
        model.pass_clock(now)
        for event in EVENTS[begin : begin + CUT]:
            model.add(event, event[3])
            latest = max(latest, event[3])
            if latest - BEHIND - 1 > model.watermark:
                model.pass_watermark(latest - BEHIND - 1)
    model.pass_watermark((1 << 63) - 1)
    model.take()
    return model.texts, [element[1] for element in model.late]


def name_of(case: Any) -> str:
    _, before, after = case
    names = ("assigner", "trigger", "function", "lateness", "evictor", "mode", "vectorised")
    values = [(getattr(before, name), getattr(after, name)) for name in names]
    return "/".join(f"{one}" if one == other else f"{one} > {other}" for one, other in values)


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_changed_windows(case: tuple[str, Windowing, Windowing]) -> None:
    what, before, after = case
    refusal = refusal_of(before, after)
    if refusal:
        assert "(uid 'windows', " in refusal
        assert "changes.py:" in refusal
        assert what in refusal or "aggregates " in refusal
        assert " -> " in refusal
        assert "--allow-non-restored-state" in refusal
    else:
        results, late = run(before, after)
        wanted, too_late = flink(before, after)
        assert Counter(results) == Counter(wanted)
        assert Counter(late) == Counter(too_late)


def test_every_kind_of_change_is_carried_over_somewhere() -> None:
    """So that nobody makes the tests above pass by refusing everything."""
    carried = Counter(what for what, before, after in CASES if not refusal_of(before, after))
    assert {what for what, count in carried.items() if count > 9} == {
        "",
        "trigger",
        "function",
        "lateness",
        "evictor",
    }
