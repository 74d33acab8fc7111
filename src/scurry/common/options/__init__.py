"""The options: everything that Scurry reads from a configuration, each defined once.

``options.CHAINING.read(configuration)`` gives the value with its type. The definitions are in the
modules of this package, by subject.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from scurry.common.options import (
    checkpoints,
    execution,
    kept,
    metrics,
    python,
    queryable,
    rescaling,
    restarts,
    state,
    tables,
)
from scurry.common.options.option import Option

#: The modules of definitions in the order of the reference page, with their headings there.
SUBJECTS: tuple[tuple[str, ModuleType], ...] = (
    ("The program and its execution", execution),
    ("Checkpoints", checkpoints),
    ("State", state),
    ("Restarts after a failure", restarts),
    ("Another parallelism while a job runs", rescaling),
    ("Metrics", metrics),
    ("Queryable state", queryable),
    ("Python on the workers", python),
    ("Tables and SQL", tables),
    ("Parts of Flink that Scurry has not", kept),
)


def defined_in(module: ModuleType) -> list[Option[Any]]:
    """The options that a module of this package defines, in its order."""
    return [value for value in vars(module).values() if isinstance(value, Option)]


#: Every option by every key that it has.
BY_KEY: dict[str, Option[Any]] = {
    key: option for _, module in SUBJECTS for option in defined_in(module) for key in option.keys
}
