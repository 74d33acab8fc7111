"""JSON in texts.

The functions of the SQL standard have clauses for what becomes of an empty or a wrong result. They
are operands here, as constants: ``JSON_VALUE(json, path, returning, on empty, default on empty, on
error, default on error)``, where `returning` is a NULL of the type that is wanted.
"""

from __future__ import annotations

from collections.abc import Sequence

from scurry.common.data_types import (
    ArrayType,
    BooleanType,
    CharacterStringType,
    DataType,
    DataTypes,
    DateType,
    DoubleType,
    IntervalType,
    IntType,
    NullType,
    TimeType,
    VariantType,
)
from scurry.functions.builtin.entry import BuiltIn
from scurry.functions.builtin.signatures import nullable, signature
from scurry.functions.expressions import Call, Expression

__all__ = ["JSON"]

Answer = tuple[Sequence[Expression], DataType] | str
_STRING = DataTypes.STRING()
_RETURNED = (CharacterStringType, BooleanType, IntType, DoubleType)


def is_json(operand: Expression) -> bool:
    """Whether a value is JSON already, and is put into JSON as it is."""
    if isinstance(operand.type, VariantType):
        return True
    return isinstance(operand, Call) and operand.function in ("JSON_OBJECT", "JSON_ARRAY", "JSON")


def _texts(operands: Sequence[Expression]) -> str | None:
    fits = len(operands) >= 2 and all(
        isinstance(operand.type, CharacterStringType | NullType) for operand in operands[:2]
    )
    return None if fits else "it takes a text with JSON and a path"


def _value(operands: Sequence[Expression]) -> Answer:
    wrong = _texts(operands)
    if wrong:
        return wrong
    returning = operands[2].type.nullable() if len(operands) > 2 else _STRING
    if not isinstance(returning, _RETURNED):
        return f"it returns STRING, BOOLEAN, INTEGER or DOUBLE, not {returning.describe()}"
    return operands, returning


def _query(operands: Sequence[Expression]) -> Answer:
    wrong = _texts(operands)
    if wrong:
        return wrong
    returning = operands[2].type.nullable() if len(operands) > 2 else _STRING
    inner = returning.element_type if isinstance(returning, ArrayType) else returning
    if not isinstance(inner, CharacterStringType):
        return f"it returns STRING or ARRAY<STRING>, not {returning.describe()}"
    return operands, returning


def _exists(operands: Sequence[Expression]) -> Answer:
    return _texts(operands) or (operands, DataTypes.BOOLEAN())


_FORMLESS = (DateType, TimeType, IntervalType)


def _formless(operands: Sequence[Expression]) -> str | None:
    """Why one of the values cannot be written as JSON, or None."""
    wrong = next((o.type for o in operands if isinstance(o.type, _FORMLESS)), None)
    return None if wrong is None else f"{wrong.describe()} has no form in JSON, so CAST it"


def _string(operands: Sequence[Expression]) -> Answer:
    if len(operands) != 1:
        return "it takes one value"
    return _formless(operands) or (operands, _STRING.with_nullability(operands[0].type.is_nullable))


def _constructed(operands: Sequence[Expression]) -> Answer:
    return _formless(operands) or (operands, _STRING.not_null())


def _json(name: str, syntax: str, says: str, resolver: object) -> BuiltIn:
    assert callable(resolver)
    return BuiltIn(name, "json", syntax, says, resolver=resolver, fails=True)


def _test(what: str, says: str) -> BuiltIn:
    name = f"IS JSON {what}"
    never_null = signature("string", lambda operands: DataTypes.BOOLEAN(False))
    aliases = ("IS JSON",) if what == "VALUE" else ()
    return BuiltIn(name, "json", f"a {name}", says, (never_null,), aliases=aliases)


JSON: tuple[BuiltIn, ...] = (
    _test("VALUE", "whether the text a is JSON; FALSE for NULL"),
    _test("SCALAR", "whether the text a is JSON, and no object and no array"),
    _test("ARRAY", "whether the text a is a JSON array"),
    _test("OBJECT", "whether the text a is a JSON object"),
    _json(
        "JSON_EXISTS",
        "JSON_EXISTS(json, path [{TRUE | FALSE | UNKNOWN | ERROR} ON ERROR])",
        "whether there is something at the path",
        _exists,
    ),
    _json(
        "JSON_VALUE",
        "JSON_VALUE(json, path [RETURNING type] [{NULL | ERROR | DEFAULT a} ON EMPTY] "
        "[{NULL | ERROR | DEFAULT a} ON ERROR])",
        "the scalar at the path",
        _value,
    ),
    _json(
        "JSON_QUERY",
        "JSON_QUERY(json, path [RETURNING type] [WITHOUT | WITH [CONDITIONAL] WRAPPER] "
        "[{NULL | EMPTY ARRAY | EMPTY OBJECT | ERROR} ON EMPTY] [... ON ERROR])",
        "the object or array at the path, as JSON",
        _query,
    ),
    _json(
        "JSON_OBJECT",
        "JSON_OBJECT([[KEY] key VALUE value, ...] [{NULL | ABSENT} ON NULL])",
        "a JSON object of the values",
        _constructed,
    ),
    _json(
        "JSON_ARRAY",
        "JSON_ARRAY([value, ...] [{NULL | ABSENT} ON NULL])",
        "a JSON array of the values",
        _constructed,
    ),
    BuiltIn(
        "JSON",
        "json",
        "JSON(a)",
        "the text a as it is, inside of JSON_OBJECT and JSON_ARRAY",
        (signature("string", _STRING),),
        fails=True,
    ),
    _json("JSON_STRING", "JSON_STRING(a)", "a as JSON", _string),
    BuiltIn(
        "JSON_QUOTE",
        "json",
        "JSON_QUOTE(a)",
        "the text a as a JSON string, in ASCII",
        (signature("string", _STRING),),
    ),
    BuiltIn(
        "JSON_UNQUOTE",
        "json",
        "JSON_UNQUOTE(a)",
        "the text behind a JSON string; a itself if it is none",
        (signature("string", _STRING),),
    ),
    BuiltIn(
        "PARSE_JSON",
        "json",
        "PARSE_JSON(a [, duplicates])",
        "the JSON a as a VARIANT; it fails without JSON, or where a key stands twice",
        (signature("string [, boolean]", VariantType()),),
        fails=True,
    ),
    BuiltIn(
        "TRY_PARSE_JSON",
        "json",
        "TRY_PARSE_JSON(a [, duplicates])",
        "the JSON a as a VARIANT; NULL where PARSE_JSON fails",
        (signature("string [, boolean]", nullable(VariantType())),),
    ),
)
