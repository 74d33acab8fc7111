"""The current key, which every handle on keyed state looks up, and its stand-in if there is none.

Handles use the current key as the key of a dict. While no element is being processed, the current
key is therefore an object that cannot be hashed: whoever uses state then gets an error that says
so, and no read or write has to check whether there is a current key.
"""

from __future__ import annotations

import sys
from typing import Any

from scurry.common.errors import ProgramError
from scurry.state.states import State


class NoKey:
    """Stands for the current key where there is none; using it says so.

    ``moment`` tells when that is, and ``advice`` what to do.
    """

    def __init__(self, moment: str, advice: str) -> None:
        self._moment = moment
        self._advice = advice

    def __hash__(self) -> int:
        state, method = _handle_in_use()
        raise ProgramError(
            f"{method} of state {state!r} was called {self._moment}, where no key is being "
            f"processed. Keyed state belongs to a key. {self._advice}"
        )


def _handle_in_use() -> tuple[str, str]:
    """The name of the state whose handle is being used, and the method that the user called."""
    state, method = "", ""
    frame = sys._getframe(2)
    while frame is not None:
        handle: Any = frame.f_locals.get("self")
        if isinstance(handle, State):
            method = f"{frame.f_code.co_name}()"
            table = getattr(handle, "_table", None)
            state = state if table is None else table.name.rpartition("\x1f")[2]
        frame = frame.f_back  # type: ignore[assignment]
    return state, method or "A method"


#: Outside of the calls that handle an element or a timer.
NO_KEY = NoKey(
    "in open, close, initialize_state, snapshot_state or a function that only combines values",
    "Use it where an element or a timer is handled; a value to begin with is what the state counts "
    "as where it is None. What belongs to no key is an attribute of the function, or operator "
    "state (CheckpointedFunction).",
)
NO_KEY_IN_BROADCAST = NoKey(
    "in process_broadcast_element",
    "Reach the state of all keys with ctx.apply_to_keyed_state(descriptor, function).",
)


class KeyScope:
    """Holds the key being processed; every state handle of an operator looks here."""

    __slots__ = ("key",)

    def __init__(self) -> None:
        self.key: Any = NO_KEY
