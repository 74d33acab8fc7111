"""Classes of users' scripts in a worker.

A class that a script or notebook defines cannot be imported by a worker: it travels by value,
inside the pickled job (:mod:`scurry.common.program_classes`). Two things have to be done before it
behaves there as it did in the script. Its name has to lead to it, so that its instances can be
pickled by Python's own pickle, which is several times faster. And if it is a dataclass, what marks
"no default" in its fields has to be Python's own marker again, which everybody tells by identity.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable
from typing import Any

from scurry.common.program_classes import PickledProgram


def load_with_classes(program: PickledProgram) -> Any:
    """What was pickled, its classes ready for use."""
    loaded, classes = program.load()
    for cls in classes:
        _mend_dataclass(cls)
    _put_into_main(classes)
    return loaded


def _mend_dataclass(cls: type) -> None:
    """Put the real marker for "no default" in the place of the copies that a dataclass brought."""
    for field in getattr(cls, "__dataclass_fields__", {}).values():
        for name in ("default", "default_factory", "kw_only"):
            if type(getattr(field, name, None)) is type(dataclasses.MISSING):
                setattr(field, name, dataclasses.MISSING)


def _put_into_main(classes: Iterable[type]) -> None:
    """Let classes be found under the names they had in the script."""
    main = sys.modules["__main__"]
    for cls in classes:
        if cls.__module__ == "__main__" and "." not in cls.__qualname__:
            setattr(main, cls.__qualname__, cls)
