"""Constructors that exist so that programs can import their class, and refuse to be called.

Some classes of PyFlink only wrap an object of Flink's JVM, or load a Java class by its name. A
program may import them, or name them in an annotation, without ever making one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scurry.common.errors import NotSupportedError

__all__ = ["unavailable"]


def unavailable(what: str, reason: str) -> Callable[..., Any]:
    """A function that raises, whatever it is called with; ``what`` is called, ``reason`` says why
    it cannot be and what to do instead."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise NotSupportedError(f"{what}: {reason}.")

    # by this mark the compatibility table tells such a constructor from one that works
    refuse.__unavailable__ = reason  # type: ignore[attr-defined]
    return refuse
