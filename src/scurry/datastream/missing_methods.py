"""What to call instead of a method that a stream does not have.

Windows, reduce and aggregates belong to keyed streams. Whoever calls them on a plain stream has
most often forgotten ``key_by``; whoever writes ``keyBy`` comes from Java.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scurry.common.errors import MissingMethodError
from scurry.common.spelling import nearest
from scurry.datastream.transformation import caller

if TYPE_CHECKING:
    from scurry.datastream.plain_stream import DataStream

_FOR_ALL = {
    "window": "for windows over all elements together use window_all(...), in which one slot does "
    "all the work",
    "count_window": "for windows over all elements together use count_window_all(...), in which "
    "one slot does all the work",
}
_ONE_KEY = "to take all elements together, key_by(lambda element: 0) gives them one key"


def missing_method(stream: DataStream, name: str) -> MissingMethodError:
    """The error for ``stream.name``, which does not exist."""
    from scurry.datastream.keyed_stream import KeyedStream

    kind, where = type(stream).__name__, caller()
    if hasattr(KeyedStream, name):
        return MissingMethodError(
            f"{name}(...) at {where} needs a keyed stream, and {stream._called()!r} "
            f"({stream._transformation.location}) has no keys: call key_by(...) before it, as in "
            f"stream.key_by(...).{name}(...); {_FOR_ALL.get(name, _ONE_KEY)}."
        )
    near = nearest(name, (known for known in dir(type(stream)) if not known.startswith("_")))
    advice = "docs/reference/pyflink.md lists its methods."
    if near is not None:
        advice = f"Did you mean {near}(...)?"
    return MissingMethodError(f"A {kind} has no method {name!r} ({where}). {advice}")
