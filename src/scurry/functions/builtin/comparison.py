"""Comparisons. Each gives TRUE, FALSE, or UNKNOWN (NULL) if an operand is NULL."""

from __future__ import annotations

from collections.abc import Sequence

from scurry.common.data_types import (
    CharacterStringType,
    DataType,
    DataTypes,
    DateType,
    LocalZonedTimestampType,
    NumericType,
    TimestampType,
    TimeType,
    VariantType,
    common_type,
)
from scurry.functions.builtin.entry import BuiltIn, Resolver, Status
from scurry.functions.builtin.signatures import any_nullable, cast_to, signature
from scurry.functions.expressions import Expression

__all__ = ["COMPARISON", "comparable_operands", "ordered_operands"]

_TEMPORAL = (DateType, TimeType, TimestampType, LocalZonedTimestampType)


def _comparison_type(types: Sequence[DataType]) -> DataType | None:
    found = common_type(types)
    if found is not None:
        return found
    texts = [t for t in types if isinstance(t, CharacterStringType)]
    others = common_type([t for t in types if not isinstance(t, CharacterStringType)] or types)
    return others if texts and isinstance(others, _TEMPORAL) else None


def comparable_operands(operands: Sequence[Expression]) -> list[Expression] | str:
    """The operands cast to one type, or why they cannot be compared."""
    types = [operand.type for operand in operands]
    target = _comparison_type(types)
    if target is None:
        numbers = any(isinstance(t, NumericType) for t in types)
        texts = any(isinstance(t, CharacterStringType) for t in types)
        hint = ", which needs a CAST on one side" if numbers and texts else ""
        return f"these types cannot be compared{hint}"
    if isinstance(target, CharacterStringType):
        return list(operands)
    return [cast_to(operand, target) for operand in operands]


def ordered_operands(operands: Sequence[Expression]) -> list[Expression] | str:
    """The operands cast to one type, or why none can be less than another."""
    if any(isinstance(operand.type, VariantType) for operand in operands):
        return "a VARIANT is equal to another or not, and neither less nor greater"
    return comparable_operands(operands)


def _compared(operands: Sequence[Expression]) -> tuple[Sequence[Expression], DataType] | str:
    cast = comparable_operands(operands)
    return cast if isinstance(cast, str) else (cast, DataTypes.BOOLEAN(any_nullable(operands)))


def _arity(count: int, rule: Resolver) -> Resolver:
    def resolve(operands: Sequence[Expression]) -> tuple[Sequence[Expression], DataType] | str:
        return rule(operands) if len(operands) == count else f"it has {count} operands"

    return resolve


def _distinct(operands: Sequence[Expression]) -> tuple[Sequence[Expression], DataType] | str:
    cast = comparable_operands(operands)
    return cast if isinstance(cast, str) else (cast, DataTypes.BOOLEAN(False))


def _ordered(operands: Sequence[Expression]) -> tuple[Sequence[Expression], DataType] | str:
    cast = ordered_operands(operands)
    return cast if isinstance(cast, str) else (cast, DataTypes.BOOLEAN(any_nullable(operands)))


def _comparison(name: str, says: str, *aliases: str) -> BuiltIn:
    rule = _compared if name in ("=", "<>") else _ordered
    return BuiltIn(
        name, "comparison", f"a {name} b", says, resolver=_arity(2, rule), aliases=aliases
    )


_NOT_NULL = DataTypes.BOOLEAN(False)
_QUERY = "a condition on a query, not a function of values: the planner makes a join of it"

COMPARISON: tuple[BuiltIn, ...] = (
    _comparison("=", "whether a and b are equal"),
    _comparison("<>", "whether a and b differ", "!="),
    _comparison("<", "whether a is less than b"),
    _comparison("<=", "whether a is less than b or equal to it"),
    _comparison(">", "whether a is greater than b"),
    _comparison(">=", "whether a is greater than b or equal to it"),
    BuiltIn(
        "IS NULL",
        "comparison",
        "a IS NULL",
        "whether a is NULL",
        (signature("any", lambda operands: _NOT_NULL),),
    ),
    BuiltIn(
        "IS NOT NULL",
        "comparison",
        "a IS NOT NULL",
        "whether a is not NULL",
        (signature("any", lambda operands: _NOT_NULL),),
    ),
    BuiltIn(
        "IS DISTINCT FROM",
        "comparison",
        "a IS DISTINCT FROM b",
        "whether a and b differ, where NULL equals NULL; never UNKNOWN",
        resolver=_arity(2, _distinct),
    ),
    BuiltIn(
        "IS NOT DISTINCT FROM",
        "comparison",
        "a IS NOT DISTINCT FROM b",
        "whether a and b are equal, where NULL equals NULL; never UNKNOWN",
        resolver=_arity(2, _distinct),
    ),
    BuiltIn(
        "BETWEEN",
        "comparison",
        "a BETWEEN [ASYMMETRIC] b AND c",
        "whether b <= a and a <= c",
        resolver=_arity(3, _ordered),
    ),
    BuiltIn(
        "NOT BETWEEN",
        "comparison",
        "a NOT BETWEEN [ASYMMETRIC] b AND c",
        "whether a < b or a > c",
        resolver=_arity(3, _ordered),
    ),
    BuiltIn(
        "BETWEEN SYMMETRIC",
        "comparison",
        "a BETWEEN SYMMETRIC b AND c",
        "whether a is between b and c, whichever of those is greater",
        resolver=_arity(3, _ordered),
    ),
    BuiltIn(
        "NOT BETWEEN SYMMETRIC",
        "comparison",
        "a NOT BETWEEN SYMMETRIC b AND c",
        "whether a is not between b and c, whichever of those is greater",
        resolver=_arity(3, _ordered),
    ),
    BuiltIn(
        "LIKE",
        "comparison",
        "a [NOT] LIKE pattern [ESCAPE c]",
        "whether the whole of a matches the pattern, in which % stands for any text and _ for any "
        "character; a character behind the escape character stands for itself",
        (signature("string, string [, string]", DataTypes.BOOLEAN()),),
        fails=True,
    ),
    BuiltIn(
        "SIMILAR TO",
        "comparison",
        "a [NOT] SIMILAR TO pattern [ESCAPE c]",
        "whether the whole of a matches a regular expression of the SQL standard: %, _, |, *, +, "
        "?, {n}, (...) and [...]",
        (signature("string, string [, string]", DataTypes.BOOLEAN()),),
        aliases=("SIMILAR",),
        fails=True,
    ),
    BuiltIn(
        "IN",
        "comparison",
        "a [NOT] IN (b, c, ...)",
        "whether a equals one of the values; UNKNOWN if not and one of them is NULL",
        resolver=lambda operands: (
            _compared(operands) if len(operands) > 1 else "the list has no values"
        ),
    ),
    *(
        BuiltIn(name, "comparison", name, says, status=Status.SUPPORTED, resolver=lambda o: _QUERY)
        for name, says in (
            ("EXISTS", "whether a query has at least one row"),
            ("IN (query)", "whether a is among the rows of a query"),
            ("NOT IN (query)", "whether a is not among the rows of a query"),
        )
    ),
)
