"""Turning an exception in user code into one error that tells the whole story."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import scurry.common
from scurry.common.errors import FunctionError, ScurryError, TypeMismatchError, shorten

_PACKAGE = str(Path(scurry.common.__file__).parent.parent)
NO_ELEMENT: Any = object()
STOPPED = (
    "the function raised StopIteration, as next() does when there is nothing left; give next() a "
    "value for that case, as in next(found, None)"
)


class ElementFailed(Exception):
    """Carries the element on which user code failed; the cause is the failure itself."""

    def __init__(self, element: Any) -> None:
        super().__init__()
        self.element = element


def apply_all(function: Callable[[Any], Any], rows: list[Any]) -> list[Any]:
    """``[function(row) for row in rows]`` at C speed, knowing the row if the function raises."""
    pending: Any = iter(rows)
    try:
        results = list(map(function, pending))
    except Exception as failure:
        raise ElementFailed(rows[-pending.__length_hint__() - 1]) from failure
    if len(results) < len(rows):
        # to list(), a StopIteration of the function is the end of the rows
        raise ElementFailed(rows[len(results)]) from RuntimeError(STOPPED)
    return results


def user_frames(failure: BaseException) -> str:
    """The traceback of ``failure`` without the engine's own frames."""
    frames = [
        frame
        for frame in traceback.extract_tb(failure.__traceback__)
        if not frame.filename.startswith(_PACKAGE)
    ]
    return "".join(traceback.format_list(frames))


def function_error(
    name: str, uid: str, location: str, element: Any, failure: BaseException
) -> FunctionError:
    """The error to raise for ``failure``, which ``element`` caused in the operator ``name``."""
    if isinstance(failure, FunctionError):
        return failure
    if isinstance(failure, ElementFailed) and failure.__cause__ is not None:
        element, failure = failure.element, failure.__cause__
    text = "".join(traceback.format_exception_only(failure)).strip()
    if isinstance(failure, ScurryError):
        text = f"{type(failure).__name__}: {failure}"
    shown = "" if element is NO_ELEMENT else shorten(element)
    frames = user_frames(failure)
    if not frames and failure.__cause__ is not None:
        frames = user_frames(failure.__cause__)
    if not frames and location:
        frames = f"  defined at {location}\n"
    return FunctionError(name, uid, shown, text, frames)


def explained(failure: Exception, function: Any) -> Exception:
    """Says what to return when a function returned something that is not an iterable."""
    trace = failure.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    in_engine = trace is not None and trace.tb_frame.f_code.co_filename.startswith(_PACKAGE)
    if not isinstance(failure, TypeError) or not in_engine or "not iterable" not in str(failure):
        return failure
    assert trace is not None
    found = trace.tb_frame.f_locals
    returned = found.get("result", found.get("results", NO_ELEMENT))
    what = f"something that is {failure}"
    if returned is not NO_ELEMENT:
        what = f"{shorten(returned)} ({type(returned).__name__})"
    return TypeMismatchError(
        f"{type(function).__name__} returned {what}; it must yield its results, or return a list "
        "of them, or None for nothing"
    )
