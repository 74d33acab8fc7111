"""Values of one type as values of another."""

from __future__ import annotations

from collections.abc import Sequence

from scurry.common.data_types import DataType, DataTypes
from scurry.functions.builtin.entry import BuiltIn
from scurry.functions.builtin.signatures import nullable, signature
from scurry.functions.expressions import Expression

__all__ = ["CONVERSION"]


def _by_type(operands: Sequence[Expression]) -> tuple[Sequence[Expression], DataType] | str:
    return "the type after AS is needed"


CONVERSION: tuple[BuiltIn, ...] = (
    BuiltIn(
        "CAST",
        "conversion",
        "CAST(a AS type)",
        "a as a value of the type; fails if it is none",
        resolver=_by_type,
        fails=True,
    ),
    BuiltIn(
        "TRY_CAST",
        "conversion",
        "TRY_CAST(a AS type)",
        "a as a value of the type; NULL if it is none",
        resolver=_by_type,
    ),
    BuiltIn(
        "TYPEOF",
        "conversion",
        "TYPEOF(a [, in_full])",
        "the type of a as text",
        (signature("any [, boolean]", nullable(DataTypes.STRING())),),
    ),
)
