"""Choosing between values. What is not chosen is not evaluated, so it cannot fail."""

from __future__ import annotations

from collections.abc import Sequence

from scurry.common.data_types import BooleanType, DataType, DataTypes, NullType, common_type
from scurry.functions.builtin.comparison import comparable_operands
from scurry.functions.builtin.entry import BuiltIn
from scurry.functions.builtin.signatures import any_nullable, cast_to, signature
from scurry.functions.expressions import Expression

__all__ = ["CONDITIONAL"]

Answer = tuple[Sequence[Expression], DataType] | str


def _common(values: Sequence[Expression]) -> DataType | str:
    found = common_type([value.type for value in values])
    if found is None:
        kinds = ", ".join(dict.fromkeys(value.type.describe() for value in values))
        return f"the results have no common type: {kinds}"
    return found


def _case(operands: Sequence[Expression]) -> Answer:
    """Conditions and results in turn, and at last what is given if no condition holds."""
    if len(operands) < 3 or len(operands) % 2 == 0:
        return "it needs conditions, results and a default"
    conditions, results = operands[:-1:2], [*operands[1::2], operands[-1]]
    for condition in conditions:
        if not isinstance(condition.type, BooleanType | NullType):
            return f"a condition is BOOLEAN, not {condition.type.describe()}"
    target = _common(results)
    if isinstance(target, str):
        return target
    cast = [
        operand if at % 2 == 0 and at < len(operands) - 1 else cast_to(operand, target)
        for at, operand in enumerate(operands)
    ]
    return cast, target


def _if(operands: Sequence[Expression]) -> Answer:
    if len(operands) != 3:
        return "it has three operands"
    answer = _case(operands)
    if isinstance(answer, str):
        return answer
    return answer[0], answer[1].with_nullability(any_nullable(operands))


def _coalesce(operands: Sequence[Expression]) -> Answer:
    if not operands:
        return "it needs at least one operand"
    target = _common(operands)
    if isinstance(target, str):
        return target
    kept = all(operand.type.is_nullable for operand in operands)
    return [cast_to(operand, target) for operand in operands], target.with_nullability(kept)


def _if_null(operands: Sequence[Expression]) -> Answer:
    answer = _coalesce(operands)
    if isinstance(answer, str) or len(operands) != 2:
        return answer if isinstance(answer, str) else "it has two operands"
    return answer[0], answer[1].with_nullability(operands[1].type.is_nullable)


def _null_if(operands: Sequence[Expression]) -> Answer:
    if len(operands) != 2:
        return "it has two operands"
    cast = comparable_operands(operands)
    return cast if isinstance(cast, str) else (operands, operands[0].type.nullable())


def _is(what: str, says: str) -> BuiltIn:
    never_null = signature("string", lambda operands: DataTypes.BOOLEAN(False))
    return BuiltIn(f"IS_{what}", "conditional", f"IS_{what}(a)", says, (never_null,))


CONDITIONAL: tuple[BuiltIn, ...] = (
    BuiltIn(
        "CASE",
        "conditional",
        "CASE [a] WHEN b THEN c ... [ELSE d] END",
        "the first result whose condition holds, else d",
        resolver=_case,
    ),
    BuiltIn(
        "IF",
        "conditional",
        "IF(condition, a, b)",
        "a if the condition is TRUE, else b",
        resolver=_if,
    ),
    BuiltIn(
        "COALESCE",
        "conditional",
        "COALESCE(a, b, ...)",
        "the first value that is not NULL",
        resolver=_coalesce,
    ),
    BuiltIn("IFNULL", "conditional", "IFNULL(a, b)", "a, or b if a is NULL", resolver=_if_null),
    BuiltIn(
        "NULLIF", "conditional", "NULLIF(a, b)", "a, or NULL if it equals b", resolver=_null_if
    ),
    _is("ALPHA", "whether a consists of letters; FALSE for NULL and the empty text"),
    _is("DECIMAL", "whether a can be read as a number; FALSE for NULL"),
    _is("DIGIT", "whether a consists of digits; FALSE for NULL and the empty text"),
)
