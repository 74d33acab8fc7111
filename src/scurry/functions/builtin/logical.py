"""Logic with three values: TRUE, FALSE and UNKNOWN, which is NULL of type BOOLEAN."""

from __future__ import annotations

from scurry.common.data_types import DataTypes
from scurry.functions.builtin.entry import BuiltIn
from scurry.functions.builtin.signatures import signature

__all__ = ["LOGICAL"]

_BOOLEAN = DataTypes.BOOLEAN()


def _test(what: str, says: str) -> BuiltIn:
    name = f"IS {what}"
    never_unknown = signature("boolean", lambda operands: DataTypes.BOOLEAN(False))
    return BuiltIn(name, "logical", f"a {name}", says, (never_unknown,))


LOGICAL: tuple[BuiltIn, ...] = (
    BuiltIn(
        "AND",
        "logical",
        "a AND b",
        "TRUE if both are TRUE, FALSE if one is FALSE, else UNKNOWN; b is not evaluated where a "
        "is FALSE",
        (signature("boolean, boolean, ...", _BOOLEAN),),
    ),
    BuiltIn(
        "OR",
        "logical",
        "a OR b",
        "TRUE if one is TRUE, FALSE if both are FALSE, else UNKNOWN; b is not evaluated where a "
        "is TRUE",
        (signature("boolean, boolean, ...", _BOOLEAN),),
    ),
    BuiltIn(
        "NOT",
        "logical",
        "NOT a",
        "TRUE if a is FALSE, FALSE if it is TRUE, else UNKNOWN",
        (signature("boolean", _BOOLEAN),),
    ),
    _test("TRUE", "whether a is TRUE"),
    _test("NOT TRUE", "whether a is FALSE or UNKNOWN"),
    _test("FALSE", "whether a is FALSE"),
    _test("NOT FALSE", "whether a is TRUE or UNKNOWN"),
    _test("UNKNOWN", "whether a is UNKNOWN"),
    _test("NOT UNKNOWN", "whether a is TRUE or FALSE"),
)
