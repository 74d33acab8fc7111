"""Whether state of one layout can be carried over to another.

Layouts of different kinds are in different tables, and are refused. Within a kind, a parameter that
has changed is refused unless a rule says otherwise. Rules follow Flink: a window that is stored
with its own start and end ends as it was, and what the program says now holds for new ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scurry.runtime.broadcast import BROADCAST
from scurry.runtime.windowing.layouts import (
    BY_WINDOW,
    KINDS,
    SESSIONS,
    SLICES,
    TIME_WINDOWS,
    VECTORISED,
)
from scurry.runtime.windowing.slices import SLICED_VALUES
from scurry.state.layout import Parameter, StateLayout
from scurry.windowing.continuous_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
)

#: Says whether a parameter's change from the first layout to the second is carried over.
Rule = Callable[[StateLayout, StateLayout], bool]
_OPERATOR_STATE, _KEYED = "operator state", "keyed states of a function"
#: Words that checkpoints of earlier versions have for layouts, and what they may stand for.
_WORDS: Mapping[str, frozenset[str]] = {
    "function": frozenset({_OPERATOR_STATE, _KEYED}),
    "reduce": frozenset({"reduced values"}),
    "interval-join": frozenset({"elements that wait for their counterparts"}),
    "window": frozenset(KINDS.values()),
}
_CONTINUOUS = {ContinuousEventTimeTrigger.__name__, ContinuousProcessingTimeTrigger.__name__}
#: Parameters that follow from others, in which people will recognise what they have changed.
_FOLLOWS: Mapping[str, tuple[str, ...]] = {
    "windows": ("assigner",),
    "merging": ("assigner",),
    "clock": ("assigner",),
    "composed trigger": ("trigger",),
    "combines": ("function", "evictor"),
    "aggregates": ("function", "aggregates"),
    "fires": ("trigger", "lateness", "assigner"),
    "panes": ("function",),
}


def _free(before: StateLayout, now: StateLayout) -> bool:
    return True


def _of_time(before: StateLayout, now: StateLayout) -> bool:
    """Windows of time are stored with their start and end. Windows of count are stored under a
    number, whose meaning depends on size and slide, so these must not change."""
    return now.of("windows") == TIME_WINDOWS


def _triggers_apart(before: StateLayout, now: StateLayout) -> bool:
    """As in Flink, a trigger may take the place of another kind of trigger, and finds nothing of
    what that one has stored. Two kinds would find it and misread it: a composed trigger, which
    stores values in the shape of its own parts, and the continuous triggers, which store times of
    different clocks under the same name."""
    if before.of("composed trigger") or now.of("composed trigger"):
        return False
    one, other = (str(layout.of("trigger")).partition("(")[0] for layout in (before, now))
    return one == other or not {one, other} <= _CONTINUOUS


def _both_evict(before: StateLayout, now: StateLayout) -> bool:
    """Windows with an evictor store each element with its timestamp, windows without one do not."""
    return "none" not in (before.of("evictor"), now.of("evictor"))


def _shown_as_before(before: StateLayout, now: StateLayout) -> bool:
    """The number of a pane is stored only where a function can see it, so a function that begins to
    see numbers would find none for windows that have fired already."""
    if before.of("fires") == "once":
        return True
    if before.of("panes") == "shown":
        return now.of("panes") == "shown" and now.of("fires") == "again"
    return now.of("panes") == "not shown"


def _later_only(before: StateLayout, now: StateLayout) -> bool:
    """The allowed lateness must not become lower: a stored session could then be too old to take an
    element, while an element that comes now still merges with it."""
    return _number(now, "lateness") >= _number(before, "lateness")


def _unless_merging(before: StateLayout, now: StateLayout) -> bool:
    return not now.of("merging") or _later_only(before, now)


def _each_its_slice(before: StateLayout, now: StateLayout) -> bool:
    """Whether each window has a slice of its own. A slice that several windows share is kept when
    the first of them has ended."""
    return now.of("size") == now.of("slide") or now.kind == KINDS[SLICED_VALUES]


def _still_broadcast(before: StateLayout, now: StateLayout) -> bool:
    names = set(str(before.of(BROADCAST)).split(", ")) - {""}
    return names <= set(str(now.of(BROADCAST)).split(", "))


def _number(layout: StateLayout, name: str) -> int:
    return int(layout.of(name) or 0)


_ALL_WINDOWS: dict[str, Rule] = {
    "assigner": _free,
    "function": _free,
    "fires": _shown_as_before,
    "panes": _shown_as_before,
    VECTORISED: _free,
}
_BY_WINDOW: dict[str, Rule] = {
    **_ALL_WINDOWS,
    "size": _of_time,
    "slide": _of_time,
    "offset": _of_time,
    "gap": _free,
    "trigger": _triggers_apart,
    "evictor": _both_evict,
    "lateness": _unless_merging,
}
#: By kind of layout, the parameters whose changes may be carried over. All others are refused.
RULES: Mapping[str, Mapping[str, Rule]] = {
    _OPERATOR_STATE: {BROADCAST: _still_broadcast},
    _KEYED: {BROADCAST: _still_broadcast},
    **dict.fromkeys(BY_WINDOW, _BY_WINDOW),
    **{kind: {**_ALL_WINDOWS, "lateness": _each_its_slice} for kind in SLICES},
    **{kind: {**_ALL_WINDOWS, "gap": _free, "lateness": _later_only} for kind in SESSIONS},
}


def why_not(before: StateLayout | str, now: StateLayout) -> str:
    """What has changed so that state of the first layout cannot be read with the second; empty if
    it can be."""
    if isinstance(before, str):
        known = not before or now.kind in _WORDS.get(before, {before})
        return "" if known else f"it was kept by a {before}, which this operator is not"
    if before.kind != now.kind:
        return "" if _takes_any(before, now) else _of_another_kind(before, now)
    if not now.reads_from <= before.version <= now.version:
        return (
            f"{now.kind}: format {before.version}, of which this version of Scurry reads "
            f"{now.reads_from} to {now.version}"
        )
    rules = RULES.get(now.kind, {})
    stuck = [name for name in _changed(before, now) if not rules.get(name, _never)(before, now)]
    return _in_words(before, now, stuck)


def changed_parameters(before: StateLayout | str, now: StateLayout) -> list[str]:
    """What has changed from one layout to another that reads its state, in words."""
    if isinstance(before, str) or before.kind != now.kind:
        return []
    told = [_in_words(before, now, [name]) for name in _changed(before, now)]
    if before.version != now.version:
        told.append(f"format {before.version} -> {now.version}")
    return list(dict.fromkeys(told))


def _takes_any(before: StateLayout, now: StateLayout) -> bool:
    """Every function may have operator state, with keys or without."""
    return (before.kind, now.kind) == (_OPERATOR_STATE, _KEYED) and _still_broadcast(before, now)


def _never(before: StateLayout, now: StateLayout) -> bool:
    return False


def _changed(before: StateLayout, now: StateLayout) -> list[str]:
    names = dict.fromkeys([*now.parameters, *before.parameters])
    return [name for name in names if before.of(name) != now.of(name)]


def _of_another_kind(before: StateLayout, now: StateLayout) -> str:
    of_windows = {before.kind, now.kind} <= set(KINDS.values())
    why = _in_words(before, now, _changed(before, now)) if of_windows else ""
    forms = f"kept as {before.kind}, and now as {now.kind}"
    return f"{why} ({forms})" if why else f"it was {forms}"


def _in_words(before: StateLayout, now: StateLayout, names: list[str]) -> str:
    """The changes of ``names``, as the user made them."""
    told = dict.fromkeys(source for name in names for source in _FOLLOWS.get(name, (name,)))
    changes = [name for name in told if before.of(name) != now.of(name)] or names
    return ", ".join(
        f"{name} {_shown(before.of(name))} -> {_shown(now.of(name))}" for name in changes
    )


def _shown(value: Parameter) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if value != "" else "none"
