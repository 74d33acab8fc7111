"""Pickles of users' values, and of the functions that handle them.

Python's own pickle is several times faster than :mod:`cloudpickle`, but cannot handle classes that
no importable module holds under their name. Those of the program are named
(:mod:`scurry.common.program_classes`), all others travel by value.
"""

from __future__ import annotations

import io
import pickle
from typing import Any

import cloudpickle

from scurry.common.program_classes import (
    PickledProgram,
    by_name,
    is_known,
    reduced_class,
    travels_by_value,
)


class ProgramPickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles anything that can be pickled. With ``defining``, classes of the program are defined
    in the pickle and added to the list, in the order in which they are met; otherwise named."""

    def __init__(self, file: io.BytesIO, defining: list[type] | None = None) -> None:
        super().__init__(file, protocol=5)
        self._defining = defining

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, type) and travels_by_value(value):
            if self._defining is not None:
                self._defining.append(value)
            elif is_known(value):
                return by_name(value)
            reduced = reduced_class(value)
            if reduced is not NotImplemented:
                return reduced
        return super().reducer_override(value)


def dumps(value: Any) -> bytes:
    """``value`` as a pickle that :func:`pickle.loads` understands."""
    try:
        return pickle.dumps(value, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError):
        file = io.BytesIO()
        ProgramPickler(file).dump(value)
        return file.getvalue()


def dumps_whole(value: Any) -> bytes:
    """``value`` as the pickle of a program of its own, which also defines the classes that nobody
    could import."""
    return pickle.dumps(PickledProgram.of(*dumps_program(value)), protocol=5)


def dumps_program(program: Any) -> tuple[bytes, list[type]]:
    """A program as a pickle, and the classes that are defined in it."""
    file, classes = io.BytesIO(), list[type]()
    ProgramPickler(file, classes).dump(program)
    return file.getvalue(), classes
