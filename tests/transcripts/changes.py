"""Windows that change between two micro-batches: programs, and a model that changes with them.

The model is that of the transcripts (:mod:`tests.transcripts.model`), which keeps every window with
its own start and end, as Flink does. When a program changes, the model keeps its windows and what
they hold, and goes on with the new assigner, trigger, lateness, evictor and mode. A trigger finds
what one before it has left under the same name, nothing else.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from tests.transcripts import model, model_triggers

from scurry.common import Configuration, Row, RowKind, Time, WatermarkStrategy
from scurry.common.windows import TimeWindow, TimeWindowSerializer
from scurry.datastream import (
    AggregateFunction,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    WindowFunction,
)
from scurry.datastream import aggregates as agg
from scurry.datastream import window as scurry_windows
from scurry.functions.panes import AccumulationMode
from scurry.testing import ListSink
from scurry.windowing.assigners import WindowAssigner

LATE = OutputTag("late")
BEHIND = 6
STAMPS = [1, 4, 12, 9, 15, 3, 17, 22, 18, 25, 11, 24]
#: After the change: elements of old windows and of new ones, some of them late.
STAMPS += [21, 16, 29, 12, 34, 27, 38, 26, 31, 47, 41, 62, 50, 45]
SPLIT = 12
#: key, number, gap and timestamp
EVENTS = [("a", number, 3 + number % 5, stamp) for number, stamp in enumerate(STAMPS, 1)]
#: elements in a micro-batch, and how far the clock moves from one to the next
CUT, TICK = 4, 7


def delta(old: Any, new: Any) -> float:
    return abs(new[1] - old[1])


class OwnWindows(WindowAssigner[Any, TimeWindow]):
    """An assigner of the user's."""

    width: ClassVar[int] = 8

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[TimeWindow]:
        start = timestamp // self.width * self.width
        return [TimeWindow(start, start + self.width)]

    def get_default_trigger(self, env: Any) -> Any:
        return scurry_windows.EventTimeTrigger.create()

    def get_window_serializer(self) -> Any:
        return TimeWindowSerializer()

    def is_event_time(self) -> bool:
        return True


class OtherWindows(OwnWindows):
    width = 12


def _own(width: int) -> Any:
    return model.Assigner(
        lambda _e, stamp, _now, _n: [(stamp // width * width, stamp // width * width + width)],
        True,
        "EventTimeTrigger()",
    )


ENGINE: dict[str, Any] = {
    **{name: value for name, value in vars(scurry_windows).items() if name[0].isupper()},
    "ms": Time.milliseconds,
    "delta": delta,
    "NeverTrigger": scurry_windows.NeverTrigger,
    "OwnWindows": OwnWindows,
    "OtherWindows": OtherWindows,
}
MODEL: dict[str, Any] = {
    **vars(model),
    **vars(model_triggers),
    "ms": int,
    "delta": delta,
    "OwnWindows": lambda: _own(8),
    "OtherWindows": lambda: _own(12),
}


@dataclass(frozen=True)
class Windowing:
    """What a program says about its windows, as texts that both worlds can evaluate."""

    assigner: str = "TumblingEventTimeWindows.of(ms(10))"
    trigger: str = ""
    function: str = "process"
    lateness: int = 0
    evictor: str = ""
    mode: str = "ACCUMULATING"
    vectorised: bool = True


def _name(window: Any) -> str:
    if isinstance(window, TimeWindow):
        return f"{window.start}-{window.end}"
    return f"#{window.id}" if hasattr(window, "id") else "global"


def _timing(context: Any) -> str:
    pane = context.pane()
    return f"{pane.timing.name.lower().replace('_', ' ')}/{pane.index}"


class Shown(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        shown = " ".join(str(element[1]) for element in elements)
        yield f"{_name(context.window())}: {shown} {_timing(context)}"


class Applied(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        yield f"{_name(window)}: {' '.join(str(element[1]) for element in inputs)}"


class Added(AggregateFunction):
    mergeable = True

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + int(value[1])

    def get_result(self, accumulator: int) -> str:
        return f"aggregated {accumulator}"

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class AddedByWindow(Added):
    """Overlapping windows keep an accumulator each."""

    mergeable = False


def add(a: Any, b: Any) -> Any:
    return (a[0], a[1] + b[1], *a[2:])


FUNCTIONS: dict[str, Any] = {
    "process": lambda windowed: windowed.process(Shown()),
    "apply": lambda windowed: windowed.apply(Applied()),
    "reduce": lambda windowed: windowed.reduce(add),
    "reduce and process": lambda windowed: windowed.reduce(add, Shown()),
    "field sum": lambda windowed: windowed.sum(1),
    "aggregate": lambda windowed: windowed.aggregate(Added()),
    "aggregate by window": lambda windowed: windowed.aggregate(AddedByWindow()),
    "built-in": lambda windowed: windowed.aggregate(agg.sum(1), agg.count()),
    "other built-in": lambda windowed: windowed.aggregate(agg.sum(1)),
}


def _as_text(value: Any) -> str:
    """A result as the model writes it."""
    if isinstance(value, Row):
        kind = {RowKind.INSERT: "+I", RowKind.UPDATE_AFTER: "+U"}.get(value.get_row_kind(), "-U")
        return f"{kind} {value[0]}"
    return str(value)


def _as_total(value: Any) -> str:
    return f"total {value[1]}"


def _as_span(value: Any) -> str:
    return f"{value[1]}-{value[2]}: {' '.join(map(str, value[3:]))}"


TEXTS = {
    "reduce": _as_total,
    "field sum": _as_total,
    "built-in": _as_span,
    "other built-in": _as_span,
}


def expected_text(pane: str, function: str) -> str:
    """What a function makes of a pane of the model, ``"0-10: 1 2 on time/0"``."""
    if function == "process":
        return pane
    name, _, rest = pane.partition(": ")
    words = rest.split()
    numbers = [int(word) for word in words if word.isdigit()]
    timing = " ".join(word for word in words if not word.isdigit())
    total = sum(numbers)
    return {
        "apply": f"{name}: {' '.join(map(str, numbers))}",
        "reduce": f"total {total}",
        "reduce and process": f"{name}: {total} {timing}",
        "field sum": f"total {total}",
        "aggregate": f"aggregated {total}",
        "aggregate by window": f"aggregated {total}",
        "built-in": f"{name}: {total} {len(numbers)}",
        "other built-in": f"{name}: {total}",
    }[function]


def compiled(windowing: Windowing, results: ListSink, late: ListSink) -> Any:
    settings = {
        "state.backend": "memory",
        "scurry.windows.vectorised": str(windowing.vectorised).lower(),
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.of(settings))
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Time.milliseconds(BEHIND)
    ).with_timestamp_assigner(lambda event, _: event[3])
    stream = env.set_parallelism(1).from_collection(EVENTS).uid("events")
    timed = stream.assign_timestamps_and_watermarks(strategy)
    windowed = timed.key_by(lambda event: event[0]).window(eval(windowing.assigner, ENGINE))
    windowed = windowed.allowed_lateness(windowing.lateness).side_output_late_data(LATE)
    windowed = windowed.accumulation_mode(AccumulationMode[windowing.mode])
    if windowing.trigger:
        windowed = windowed.trigger(eval(windowing.trigger, ENGINE))
    if windowing.evictor:
        windowed = windowed.evictor(eval(windowing.evictor, ENGINE))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stream = FUNCTIONS[windowing.function](windowed).uid("windows")
    stream.map(TEXTS.get(windowing.function, _as_text)).uid("texts").sink_to(results)
    stream.get_side_output(LATE).map(lambda event: event[1]).sink_to(late)
    return env._compile(None)


class ChangingModel(model.Model):
    """A model whose windowing changes, and what each pane became in the function's hands."""

    def __init__(self, windowing: Windowing) -> None:
        super().__init__(*self._parts(windowing))
        self.function, self.texts, self.taken = windowing.function, list[str](), 0

    @staticmethod
    def _parts(windowing: Windowing) -> tuple[Any, ...]:
        assigner = eval(windowing.assigner, MODEL)
        trigger = eval(windowing.trigger or assigner.default, MODEL)
        evictor = eval(windowing.evictor, MODEL) if windowing.evictor else None
        return assigner, trigger, windowing.lateness, windowing.mode, evictor

    def change(self, windowing: Windowing) -> None:
        self.take()
        before = self.trigger
        parts = self._parts(windowing)
        self.assigner, self.trigger, self.lateness, self.mode, self.evictor = parts
        self.function = windowing.function
        for held in self.windows.values():
            held.trigger = _continued(held.trigger, before, self.trigger)

    def take(self) -> None:
        """Hand the panes that are new to the function."""
        self.texts += [expected_text(pane, self.function) for pane in self.panes[self.taken :]]
        self.taken = len(self.panes)


def _continued(held: Any, before: Any, now: Any) -> Any:
    if isinstance(now, model_triggers.Condition):
        return held
    fresh = now.fresh()
    old, new = _inner(held), _inner(fresh)
    for name in ("count", "next", "last"):
        if name in vars(old) and name in vars(new):
            setattr(new, name, getattr(old, name))
    return fresh


def _inner(trigger: Any) -> Any:
    return trigger.inner if isinstance(trigger, model_triggers.PurgingTrigger) else trigger
