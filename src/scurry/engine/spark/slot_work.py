"""What the process of a slot does beside executing tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class SlotWork:
    """Called by the process of a slot, between tasks."""

    #: closes the functions that are no longer wanted here, and says for how many tasks and hosts
    #: there are still some; None if there never were any
    tend: Callable[[], int | None]
    #: closes all functions
    end: Callable[[], None]
