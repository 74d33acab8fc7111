"""Arithmetic. Integers wrap around as Java's do, and dividing them cuts the fraction off."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scurry.common.data_types import (
    DataType,
    DataTypes,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    FloatType,
    IntegralType,
    IntervalType,
    LocalZonedTimestampType,
    NumericType,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
    as_decimal,
    common_type,
    division_type,
    modulo_type,
    product_type,
    rounded_type,
    sum_type,
)
from scurry.functions.builtin.comparison import ordered_operands
from scurry.functions.builtin.entry import BuiltIn, Resolver
from scurry.functions.builtin.signatures import any_nullable, cast_to, signature
from scurry.functions.expressions import Expression, Literal

__all__ = ["ARITHMETIC"]

Answer = tuple[Sequence[Expression], DataType] | str
DecimalRule = Callable[[DecimalType, DecimalType], DecimalType]
_POINTS = (DateType, TimeType, TimestampType, LocalZonedTimestampType)
_SECONDS = DayTimeIntervalType(DayTimeIntervalType.DayTimeResolution.SECOND, 2, 3)
_MONTHS = YearMonthIntervalType(YearMonthIntervalType.YearMonthResolution.MONTH)


def _interval_like(data_type: DataType) -> DataType:
    return _MONTHS if isinstance(data_type, YearMonthIntervalType) else _SECONDS


def _numbers(left: Expression, right: Expression, rule: DecimalRule) -> Answer:
    one, two = left.type, right.type
    kept = any_nullable((left, right))
    if isinstance(one, IntegralType) and isinstance(two, IntegralType):
        wider = (one if one.bits >= two.bits else two).with_nullability(kept)
        return (cast_to(left, wider), cast_to(right, wider)), wider
    exact = (IntegralType, DecimalType)
    if isinstance(one, exact) and isinstance(two, exact):
        result = rule(as_decimal(one), as_decimal(two)).with_nullability(kept)
        return (cast_to(left, as_decimal(one)), cast_to(right, as_decimal(two))), result
    wide = _approximate(one, two).with_nullability(kept)
    return (cast_to(left, wide), cast_to(right, wide)), wide


def _approximate(one: DataType, two: DataType) -> DataType:
    """Of two approximate numbers the left one decides; a decimal makes it DOUBLE."""
    if isinstance(one, DecimalType) or isinstance(two, DecimalType):
        return DataTypes.DOUBLE()
    left = two if isinstance(one, IntegralType) else one
    return DataTypes.FLOAT() if isinstance(left, FloatType) else DataTypes.DOUBLE()


def _two(rule: Callable[[Expression, Expression], Answer]) -> Resolver:
    def resolve(operands: Sequence[Expression]) -> Answer:
        if len(operands) != 2:
            return "it has two operands"
        return rule(_known(operands[0], operands[1]), _known(operands[1], operands[0]))

    return resolve


def _known(operand: Expression, other: Expression) -> Expression:
    """A bare NULL is taken for one of the other operand's type."""
    if isinstance(operand, Literal) and operand.value is None:
        return cast_to(operand, other.type)
    return operand


def _additive(left: Expression, right: Expression) -> Answer:
    one, two = left.type, right.type
    if isinstance(one, NumericType) and isinstance(two, NumericType):
        return _numbers(left, right, sum_type)
    kept = any_nullable((left, right))
    if isinstance(one, IntervalType) and type(one) is type(two):
        return (left, right), _interval_like(one).with_nullability(kept)
    if isinstance(one, _POINTS) and isinstance(two, IntervalType):
        return (left, right), one.with_nullability(kept)
    return "these types cannot be added or subtracted"


def _plus(left: Expression, right: Expression) -> Answer:
    if isinstance(left.type, IntervalType) and isinstance(right.type, _POINTS):
        return _additive(right, left)
    return _additive(left, right)


def _times(left: Expression, right: Expression) -> Answer:
    if isinstance(left.type, NumericType) and isinstance(right.type, IntervalType):
        return _times(right, left)
    if isinstance(left.type, IntervalType) and isinstance(right.type, IntegralType):
        kept = any_nullable((left, right))
        return (left, right), _interval_like(left.type).with_nullability(kept)
    return _scaled(left, right, product_type)


def _divided(left: Expression, right: Expression) -> Answer:
    return _scaled(left, right, division_type)


def _scaled(left: Expression, right: Expression, rule: DecimalRule) -> Answer:
    if isinstance(left.type, NumericType) and isinstance(right.type, NumericType):
        return _numbers(left, right, rule)
    return "these types are no numbers"


def _modulo(left: Expression, right: Expression) -> Answer:
    exact = (IntegralType, DecimalType)
    if not isinstance(left.type, exact) or not isinstance(right.type, exact):
        return "a remainder needs integers or decimals"
    answer = _numbers(left, right, modulo_type)
    if isinstance(answer, str) or not isinstance(left.type, IntegralType):
        return answer
    operands, result = answer
    if isinstance(right.type, IntegralType):  # a remainder is smaller than what it is divided by
        result = right.type.with_nullability(result.is_nullable)
    return operands, result


def _same(operands: Sequence[Expression]) -> DataType:
    return operands[0].type.with_nullability(any_nullable(operands))


def _whole(operands: Sequence[Expression]) -> DataType:
    """CEIL and FLOOR keep the type; decimals lose their digits behind the point."""
    given = operands[0].type
    if isinstance(given, DecimalType):
        return DecimalType(given.precision, 0, given.is_nullable)
    return given


def _rounded(operands: Sequence[Expression]) -> DataType:
    given = operands[0].type
    kept = any_nullable(operands)
    if not isinstance(given, DecimalType):
        return given.with_nullability(kept)
    digits = 0
    if len(operands) == 2:
        second = operands[1]
        constant = second.value if isinstance(second, Literal) else None
        digits = given.scale if constant is None else int(constant)
    return rounded_type(given, digits).with_nullability(kept)


def _extreme(operands: Sequence[Expression]) -> Answer:
    if not operands:
        return "it needs at least one operand"
    cast = ordered_operands(operands)
    if isinstance(cast, str):
        return cast
    target = common_type([operand.type for operand in operands])
    if target is None:
        return "the values have no common type"
    return [cast_to(operand, target) for operand in cast], target


def _signed(operands: Sequence[Expression]) -> Answer:
    if len(operands) != 1:
        return "it has one operand"
    operand = operands[0]
    if isinstance(operand.type, NumericType | IntervalType):
        return operands, operand.type
    return "only numbers and intervals have a sign"


def _operator(name: str, says: str, rule: Resolver, fails: bool = False, *also: str) -> BuiltIn:
    return BuiltIn(
        name, "arithmetic", f"a {name} b", says, resolver=rule, fails=fails, aliases=also
    )


def _double(name: str, syntax: str, says: str, parameters: str = "double") -> BuiltIn:
    signatures = (signature(parameters, DataTypes.DOUBLE()),)
    return BuiltIn(name, "arithmetic", f"{name}({syntax})", says, signatures)


_STRING = DataTypes.STRING()
_DOUBLE = DataTypes.DOUBLE()
_ROUNDING = (signature("numeric [, int]", _rounded),)

ARITHMETIC: tuple[BuiltIn, ...] = (
    BuiltIn("+X", "arithmetic", "+ a", "a itself", resolver=_signed),
    BuiltIn("-X", "arithmetic", "- a", "a with the other sign", resolver=_signed),
    _operator("+", "the sum of numbers or intervals, or a time that much later", _two(_plus)),
    _operator("-", "the difference, or a time that much earlier", _two(_additive)),
    _operator("*", "the product", _two(_times)),
    _operator(
        "/", "the quotient; of integers and decimals, by zero, it fails", _two(_divided), True
    ),
    _operator(
        "%", "the remainder, with the sign of a; dividing by zero fails", _two(_modulo), True, "MOD"
    ),
    _double("POWER", "a, b", "a to the power of b", "double, double"),
    BuiltIn("ABS", "arithmetic", "ABS(a)", "a without its sign", (signature("numeric", _same),)),
    _double("SQRT", "a", "the square root of a"),
    _double("LN", "a", "the natural logarithm of a"),
    _double("LOG10", "a", "the logarithm of a to base 10"),
    _double("LOG2", "a", "the logarithm of a to base 2"),
    _double(
        "LOG",
        "[b,] a",
        "the natural logarithm of a, or its logarithm to base b",
        "double [, double]",
    ),
    _double("EXP", "a", "e to the power of a"),
    BuiltIn(
        "CEIL",
        "arithmetic",
        "CEIL(a)",
        "the smallest whole number that is not less than a",
        (signature("numeric", _whole),),
        aliases=("CEILING",),
    ),
    BuiltIn(
        "FLOOR",
        "arithmetic",
        "FLOOR(a)",
        "the greatest whole number that is not greater than a",
        (signature("numeric", _whole),),
    ),
    _double("SIN", "a", "the sine of a"),
    _double("COS", "a", "the cosine of a"),
    _double("TAN", "a", "the tangent of a"),
    _double("COT", "a", "the cotangent of a"),
    _double("ASIN", "a", "the arc sine of a"),
    _double("ACOS", "a", "the arc cosine of a"),
    _double("ATAN", "a", "the arc tangent of a"),
    _double("ATAN2", "a, b", "the angle of the point (b, a)", "double, double"),
    _double("SINH", "a", "the hyperbolic sine of a"),
    _double("COSH", "a", "the hyperbolic cosine of a"),
    _double("TANH", "a", "the hyperbolic tangent of a"),
    _double("DEGREES", "a", "the angle a, given in radians, in degrees"),
    _double("RADIANS", "a", "the angle a, given in degrees, in radians"),
    BuiltIn("SIGN", "arithmetic", "SIGN(a)", "-1, 0 or 1", (signature("numeric", _same),)),
    BuiltIn(
        "ROUND",
        "arithmetic",
        "ROUND(a [, digits])",
        "a rounded, halves away from zero, to so many digits behind the point (none if left out)",
        _ROUNDING,
    ),
    BuiltIn(
        "TRUNCATE",
        "arithmetic",
        "TRUNCATE(a [, digits])",
        "a cut to so many digits behind the point; a negative number makes digits before it zero",
        _ROUNDING,
    ),
    BuiltIn("PI", "arithmetic", "PI()", "the number pi", (signature("", _DOUBLE),)),
    BuiltIn("E", "arithmetic", "E()", "the number e", (signature("", _DOUBLE),)),
    BuiltIn(
        "RAND",
        "arithmetic",
        "RAND([seed])",
        "a random number, at least 0 and less than 1; with a seed, Java's sequence for it",
        (signature("[int]", _DOUBLE),),
        deterministic=False,
    ),
    BuiltIn(
        "RAND_INTEGER",
        "arithmetic",
        "RAND_INTEGER([seed,] bound)",
        "a random integer, at least 0 and less than the bound; with a seed, Java's sequence for it",
        (signature("int [, int]", DataTypes.INT()),),
        deterministic=False,
        fails=True,
    ),
    BuiltIn(
        "UUID",
        "arithmetic",
        "UUID()",
        "a random UUID of version 4",
        (signature("", DataTypes.CHAR(36, False)),),
        deterministic=False,
    ),
    BuiltIn(
        "BIN",
        "arithmetic",
        "BIN(a)",
        "the integer a in binary digits, a negative one as its 64 bits",
        (signature("bigint", _STRING),),
    ),
    BuiltIn(
        "HEX",
        "arithmetic",
        "HEX(a)",
        "the integer a, or the bytes of the text a, in hexadecimal digits",
        (signature("bigint", _STRING), signature("string", _STRING)),
    ),
    BuiltIn(
        "UNHEX",
        "arithmetic",
        "UNHEX(a)",
        "the bytes that the hexadecimal digits stand for; NULL if they are none",
        (signature("string", lambda operands: DataTypes.BYTES()),),
    ),
    BuiltIn(
        "GREATEST",
        "arithmetic",
        "GREATEST(a, b, ...)",
        "the greatest value; NULL if one of them is",
        resolver=_extreme,
    ),
    BuiltIn(
        "LEAST",
        "arithmetic",
        "LEAST(a, b, ...)",
        "the least value; NULL if one of them is",
        resolver=_extreme,
    ),
)
