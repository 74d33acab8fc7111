"""The catalogue: every built-in function of Flink's reference, in one table.

`resolve` turns a name and typed operands into a typed call, with the casts that the function needs;
or it refuses, and the message says how the function can be called. Functions that Scurry does not
have are in the table too, with the reason, and so are refused by name. The reference page
``docs/reference/sql-functions.md`` is written from the same table.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from scurry.common.data_types import DataType, supports_explicit_cast
from scurry.common.errors import NotSupportedError, ProgramError
from scurry.common.spans import NOWHERE, Span
from scurry.functions.builtin.aggregate import AGGREGATE
from scurry.functions.builtin.arithmetic import ARITHMETIC
from scurry.functions.builtin.collection import COLLECTION
from scurry.functions.builtin.comparison import COMPARISON
from scurry.functions.builtin.conditional import CONDITIONAL
from scurry.functions.builtin.conversion import CONVERSION
from scurry.functions.builtin.entry import BuiltIn, Kind, Status
from scurry.functions.builtin.hashing import HASHING
from scurry.functions.builtin.json import JSON
from scurry.functions.builtin.logical import LOGICAL
from scurry.functions.builtin.others import OTHERS
from scurry.functions.builtin.strings import STRINGS
from scurry.functions.builtin.temporal import TEMPORAL
from scurry.functions.expressions import Call, Expression

__all__ = ["BUILT_INS", "find", "resolve", "resolve_aggregate", "resolve_cast"]

BUILT_INS: tuple[BuiltIn, ...] = (
    *COMPARISON,
    *LOGICAL,
    *ARITHMETIC,
    *STRINGS,
    *TEMPORAL,
    *CONDITIONAL,
    *CONVERSION,
    *COLLECTION,
    *JSON,
    *HASHING,
    *AGGREGATE,
    *OTHERS,
)

_BY_NAME: dict[str, BuiltIn] = {}
for _entry in BUILT_INS:
    for _name in (_entry.name, *_entry.aliases):
        assert _name not in _BY_NAME, f"two functions are called {_name}"
        _BY_NAME[_name] = _entry


def find(name: str) -> BuiltIn | None:
    """The function of that name, whatever the case, or None."""
    return _BY_NAME.get(name.upper())


def resolve(name: str, operands: Sequence[Expression], span: Span = NOWHERE) -> Call:
    """The call of a scalar function on operands; refused if it does not exist or does not fit."""
    entry = _supported(name)
    if entry.kind is not Kind.SCALAR:
        raise ProgramError(
            f"{entry.name} is a function of kind {entry.kind.value}; it cannot stand where the "
            "value of one row is needed"
        )
    adapted, result = _typed(entry, operands)
    return Call(entry.name, tuple(adapted), result, entry.deterministic, span=span)


def resolve_aggregate(
    name: str, operands: Sequence[Expression]
) -> tuple[BuiltIn, tuple[Expression, ...], DataType]:
    """The aggregate (or function of an OVER window) of that name, its operands with the casts that
    they need, and the type of its result."""
    entry = _supported(name)
    if entry.kind not in (Kind.AGGREGATE, Kind.WINDOW):
        raise ProgramError(f"{entry.name} is no aggregate")
    adapted, result = _typed(entry, operands)
    return entry, tuple(adapted), result


def _supported(name: str) -> BuiltIn:
    entry = find(name)
    if entry is None:
        near = difflib.get_close_matches(name.upper(), sorted(_BY_NAME), 3)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        raise ProgramError(f"there is no function {name}{hint}")
    if entry.status is not Status.SUPPORTED:
        raise NotSupportedError(f"the function {entry.name} is not supported: {entry.reason}")
    return entry


def _typed(entry: BuiltIn, operands: Sequence[Expression]) -> tuple[Sequence[Expression], DataType]:
    if entry.resolver is not None:
        answer = entry.resolver(operands)
        if isinstance(answer, str):
            raise ProgramError(_misfit(entry, operands, answer))
        return answer
    for one in entry.signatures:
        adapted = one.apply(operands)
        if adapted is not None:
            return adapted, one.result(adapted)
    raise ProgramError(_misfit(entry, operands, ""))


def _misfit(entry: BuiltIn, operands: Sequence[Expression], why: str) -> str:
    given = ", ".join(operand.type.describe() for operand in operands)
    forms = [one.describe(entry.name) for one in entry.signatures] or [entry.syntax]
    reason = f": {why}" if why else ""
    return f"{entry.name} does not take ({given}){reason}; it is called as {' or '.join(forms)}"


def resolve_cast(
    operand: Expression, target: DataType, safe: bool = False, span: Span = NOWHERE
) -> Expression:
    """CAST(operand AS target), or with `safe` TRY_CAST, which gives NULL where CAST fails."""
    if not supports_explicit_cast(operand.type, target):
        raise ProgramError(
            f"values of {operand.type.describe()} cannot be cast to {target.describe()}"
        )
    name, kept = ("TRY_CAST", True) if safe else ("CAST", operand.type.is_nullable)
    return Call(name, (operand,), target.with_nullability(kept), span=span)
