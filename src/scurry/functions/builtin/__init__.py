"""The built-in functions: one table of all of Flink's, by family, and how calls are typed.

`catalogue` has the table and `resolve`; `comparison`, `logical`, `arithmetic`, `strings`,
`temporal`, `conditional`, `conversion`, `collection`, `json`, `hashing`, `aggregate` and `others`
are its families. How values are computed is not known here, but in `scurry.runtime.expressions`.
"""

from __future__ import annotations

from scurry.functions.builtin.catalogue import (
    BUILT_INS,
    find,
    resolve,
    resolve_aggregate,
    resolve_cast,
)
from scurry.functions.builtin.entry import BuiltIn, Kind, Status

__all__ = [
    "BUILT_INS",
    "BuiltIn",
    "Kind",
    "Status",
    "find",
    "resolve",
    "resolve_aggregate",
    "resolve_cast",
]
