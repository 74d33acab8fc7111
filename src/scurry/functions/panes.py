"""Panes: the several firings of one window, and how they relate to each other.

A window that fires early, on time and again for late elements gives several results. The
accumulation mode says what each holds: everything so far, only what is new, or everything so far
preceded by the withdrawal of what was said before.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class AccumulationMode(enum.Enum):
    """What a firing of a window holds."""

    #: everything that came so far; Flink's way, and the default
    ACCUMULATING = "accumulating"
    #: what came since the last firing
    DISCARDING = "discarding"
    #: everything so far, after the last firing's results have been taken back: results are Rows
    #: whose kind is INSERT at the first firing, then UPDATE_BEFORE (the old) and UPDATE_AFTER
    ACCUMULATING_AND_RETRACTING = "accumulating_and_retracting"


class PaneTiming(enum.Enum):
    """A firing's place relative to the end of its window."""

    #: before the clock reached the end
    EARLY = "early"
    #: as the clock reached the end
    ON_TIME = "on time"
    #: afterwards, because of late elements
    LATE = "late"


@dataclass(frozen=True, slots=True)
class PaneInfo:
    """One firing of a window."""

    timing: PaneTiming
    #: its number, from 0
    index: int
    is_first: bool
    #: whether the window ends for good with this firing
    is_last: bool
