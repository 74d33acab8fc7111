"""What window operators declare about their state.

There is a kind of layout for each table that windows are kept in. The parameters say everything the
program said about the windows: some of them decide what the stored records mean, others are there
so that a refusal can name what the user has changed.
"""

from __future__ import annotations

from scurry.common.options import execution
from scurry.functions.aggregations import FieldAggregation
from scurry.functions.transforms import AggregateFunction
from scurry.functions.window_aggregates import Aggregates
from scurry.runtime.windowing.contents import ELEMENTS, VALUES
from scurry.runtime.windowing.merging import MERGING_WINDOWS
from scurry.runtime.windowing.run_slices import SLICED_RUNS
from scurry.runtime.windowing.session_table import SESSION_ELEMENTS, SESSION_SPANS, SESSION_VALUES
from scurry.runtime.windowing.slices import (
    SESSION_COLUMNS,
    SLICED_COLUMNS,
    SLICED_ELEMENTS,
    SLICED_VALUES,
)
from scurry.state.layout import Parameter, StateLayout
from scurry.windowing.assigners import AnyAssigner
from scurry.windowing.conditions import Condition
from scurry.windowing.count_windows import CountingAssigner, GlobalWindows
from scurry.windowing.session_windows import SessionWindows
from scurry.windowing.spec import WindowSpec
from scurry.windowing.time_windows import AlignedWindows, EventTimeAligned, ProcessingTimeAligned

#: The kinds of layouts, by the table of what windows hold.
KINDS = {
    ELEMENTS: "elements by window",
    VALUES: "values by window",
    SLICED_ELEMENTS: "elements by slice of time",
    SLICED_VALUES: "values by start of window",
    SLICED_RUNS: "values by slice of time",
    SLICED_COLUMNS: "columns by slice of time",
    SESSION_SPANS: "sessions with their elements",
    SESSION_VALUES: "sessions with a value each",
    SESSION_COLUMNS: "sessions in columns",
}
#: Further tables that are needed to read what lies in one of them.
BESIDE = {
    ELEMENTS: (MERGING_WINDOWS,),
    VALUES: (MERGING_WINDOWS,),
    SESSION_SPANS: (SESSION_ELEMENTS,),
}
BY_WINDOW = (KINDS[ELEMENTS], KINDS[VALUES])
SLICES = tuple(KINDS[t] for t in (SLICED_ELEMENTS, SLICED_VALUES, SLICED_RUNS, SLICED_COLUMNS))
SESSIONS = tuple(KINDS[table] for table in (SESSION_SPANS, SESSION_VALUES, SESSION_COLUMNS))

#: What :func:`family_of` calls aligned windows.
TIME_WINDOWS = "windows of time"
#: The parameter that says whether windows which could run on whole columns do; it is the name of
#: the setting.
VECTORISED = execution.VECTORISED.key


def window_layout(table: str, version: int, windowing: WindowSpec) -> StateLayout:
    """The layout of windows that are kept in ``table``."""
    parameters: dict[str, Parameter] = {
        "assigner": _assigner(windowing.assigner),
        "windows": family_of(windowing),
        "merging": windowing.merging,
        "clock": "event time" if windowing.assigner.is_event_time() else "processing time",
        **_measures(windowing.assigner),
        "trigger": described(windowing.trigger),
        "composed trigger": isinstance(windowing.trigger, Condition),
        "evictor": "none" if windowing.evictor is None else described(windowing.evictor),
        "lateness": windowing.allowed_lateness,
        "accumulation": windowing.accumulation.name,
        "keyed": windowing.keyed,
        "function": _function(windowing),
        "combines": windowing.contents,
        "fires": "once" if windowing.fires_once else "again",
        "panes": "shown" if windowing.has_context else "not shown",
    }
    if type(windowing.incremental) is Aggregates and windowing.contents != "list":
        parameters["aggregates"] = repr(windowing.incremental)
    return StateLayout(KINDS[table], version, parameters)


def family_of(windowing: WindowSpec) -> str:
    """What kind of windows an assigner makes, as far as what is stored of them is concerned."""
    assigner = windowing.assigner
    aligned = (EventTimeAligned.assign_windows, ProcessingTimeAligned.assign_windows)
    if isinstance(assigner, AlignedWindows) and type(assigner).assign_windows in aligned:
        return TIME_WINDOWS
    if isinstance(assigner, SessionWindows):
        return "sessions"
    if isinstance(assigner, CountingAssigner):
        return "windows of count"
    if isinstance(assigner, GlobalWindows):
        return "the global window"
    return f"windows of {_named(assigner)}"


def _measures(assigner: AnyAssigner) -> dict[str, Parameter]:
    """The numbers of an assigner of ours, in milliseconds or elements."""
    names = {
        "size": ("size", "window_size"),
        "slide": ("slide", "window_slide"),
        "offset": ("offset",),
        "gap": ("session_gap",),
    }
    return {
        name: getattr(assigner, attribute)
        for name, attributes in names.items()
        for attribute in attributes
        if isinstance(getattr(assigner, attribute, None), int)
    }


def _assigner(assigner: AnyAssigner) -> str:
    ours = type(assigner).__module__.startswith("scurry.windowing.")
    return type(assigner).__name__ if ours else _named(assigner)


def _named(given: object) -> str:
    return f"{type(given).__module__}.{type(given).__qualname__}"


def described(given: object) -> str:
    """A trigger or evictor in a line: its class, and what it was given that can be compared."""
    if isinstance(given, Condition):
        return repr(given)
    parts = []
    for name, value in sorted(vars(given).items()):
        if isinstance(value, (bool, int, float, str)):
            parts.append(f"{name.lstrip('_')}={value!r}")
        elif name == "nested_trigger":
            parts.append(described(value))
    return f"{type(given).__name__}({', '.join(parts)})"


def _function(windowing: WindowSpec) -> str:
    """What the program computes, in the words of the calls that it was given with."""
    parts = [_combining(windowing.incremental)]
    if windowing.function is not None and parts != ["built-in aggregates"]:
        parts.append("process" if windowing.has_context else "apply")
    return " and ".join(filter(None, parts))


def _combining(function: object) -> str:
    if function is None:
        return ""
    if isinstance(function, FieldAggregation):
        return "the aggregate of a field"
    if isinstance(function, Aggregates):
        return "built-in aggregates"
    if not isinstance(function, AggregateFunction):
        return "reduce"
    return "mergeable aggregate" if function.mergeable else "aggregate"
