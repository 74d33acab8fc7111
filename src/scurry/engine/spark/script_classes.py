"""Classes of users' scripts in a worker.

A class that a script or notebook defines cannot be imported by a worker: it travels by value,
inside the pickled job. Two things have to be done before it behaves there as it did in the script.
Its name has to lead to it, so that its instances can be pickled by reference, which is several
times faster than by value. And if it is a dataclass, what marks "no default" in its fields has to
be Python's own marker again, which everybody tells by identity.
"""

from __future__ import annotations

import dataclasses
import pickle
import sys
from typing import Any

import cloudpickle

#: The classes that came with each run of a job.
_adopted: dict[str, list[type]] = {}


def load_with_classes(content: bytes, run_id: str) -> Any:
    """What ``content`` was pickled from, its classes ready for use. A run may be loaded several
    times, always with the classes of the first time."""
    before = set(_script_classes())
    loaded = pickle.loads(content)
    _mend_dataclasses()
    if run_id not in _adopted:
        _adopted[run_id] = [kind for kind in _script_classes() if kind not in before]
    _adopt(_adopted[run_id])
    return loaded


def _script_classes() -> list[type]:
    """Classes that came to this worker by value, out of a script or notebook."""
    tracked = cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS
    return [kind for kind in list(tracked) if kind.__module__ == "__main__"]


def _mend_dataclasses() -> None:
    """Put the real marker for "no default" in the place of the copies that dataclasses brought."""
    for kind in list(cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS):
        for field in getattr(kind, "__dataclass_fields__", {}).values():
            for name in ("default", "default_factory", "kw_only"):
                if type(getattr(field, name, None)) is type(dataclasses.MISSING):
                    setattr(field, name, dataclasses.MISSING)


def _adopt(kinds: list[type]) -> None:
    """Let classes be found under the names they had in the script."""
    main = sys.modules["__main__"]
    for kind in kinds:
        if "." not in kind.__qualname__:
            setattr(main, kind.__qualname__, kind)
