"""Programs that were built and never started.

Building a program runs nothing. A script that ends without ``env.execute()`` would end without a
word, and without having done anything, so the first sink of an environment is remembered until a
job is made of it, and what is left is told when the process ends.
"""

from __future__ import annotations

import atexit
import sys

from scurry.datastream.transformation import Transformation

#: the first sink of each environment of which no job was made
_left: dict[int, Transformation] = {}


def built(environment: object, sink: Transformation) -> None:
    """A stream of ``environment`` ends in ``sink``."""
    if not _left:
        atexit.register(_tell)
    _left.setdefault(id(environment), sink)


def used(environment: object) -> None:
    """A job was made of what ``environment`` holds, or it was thrown away."""
    _left.pop(id(environment), None)


def forget() -> None:
    """Say nothing when the process ends: it ends because of an error, or on purpose."""
    _left.clear()


def _tell() -> None:
    if getattr(sys, "last_type", None) is None:
        for sink in _left.values():
            print(
                f"scurry: the job that ends in {sink.name!r} ({sink.location}) was built and never "
                "started, so nothing has run. Call env.execute() at the end of the program.",
                file=sys.stderr,
            )
    forget()
