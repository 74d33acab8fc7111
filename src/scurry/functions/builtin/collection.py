"""Arrays, maps and rows. Positions in arrays count from 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from scurry.common.data_types import (
    ArrayType,
    CharacterStringType,
    DataType,
    DataTypes,
    IntegralType,
    MapType,
    RowField,
    RowType,
    VariantType,
    common_type,
    supports_implicit_cast,
)
from scurry.functions.builtin.entry import BuiltIn, Resolver
from scurry.functions.builtin.signatures import Signature, any_nullable, cast_to, signature
from scurry.functions.expressions import Expression, Literal

__all__ = ["COLLECTION"]

Answer = tuple[Sequence[Expression], DataType] | str
_INT = DataTypes.INT()


def _array(operands: Sequence[Expression]) -> Answer:
    if not operands:
        return "an array needs at least one element"
    element = common_type([operand.type for operand in operands])
    if element is None:
        return "the elements have no common type"
    return [cast_to(operand, element) for operand in operands], ArrayType(element, False)


def _map(operands: Sequence[Expression]) -> Answer:
    if not operands or len(operands) % 2:
        return "a map needs keys and values in turn"
    key = common_type([operand.type for operand in operands[::2]])
    value = common_type([operand.type for operand in operands[1::2]])
    if key is None or value is None:
        return "the keys, or the values, have no common type"
    cast = [cast_to(o, value if at % 2 else key) for at, o in enumerate(operands)]
    return cast, MapType(key, value, False)


def _row(operands: Sequence[Expression]) -> Answer:
    fields = (RowField(f"EXPR${at}", operand.type) for at, operand in enumerate(operands))
    return operands, RowType(fields, False)


def _item(operands: Sequence[Expression]) -> Answer:
    if len(operands) != 2:
        return "it has a collection and a position or key"
    whole, index = operands
    if isinstance(whole.type, ArrayType) and isinstance(index.type, IntegralType):
        if isinstance(index, Literal) and index.value is not None and index.value < 1:
            return f"positions in an array count from 1, got {index.value}"
        return (whole, cast_to(index, _INT)), whole.type.element_type.nullable()
    if isinstance(whole.type, VariantType):
        if not isinstance(index.type, IntegralType | CharacterStringType):
            return "a VARIANT has positions, from 1 on, and texts as keys"
        return (whole, index), whole.type.nullable()
    if isinstance(whole.type, MapType):
        key = whole.type.key_type
        if common_type([key, index.type]) is None:
            return f"the keys are {key.describe()}"
        return (whole, index), whole.type.value_type.nullable()
    if isinstance(whole.type, RowType) and isinstance(index, Literal):
        at = index.value - 1 if type(index.value) is int else -1
        if 0 <= at < len(whole.type):
            return _field((whole, Literal(at, _INT.not_null())))
    return "only arrays, maps and VARIANTs have items"


def _field(operands: Sequence[Expression]) -> Answer:
    whole, at = operands if len(operands) == 2 else (None, None)
    if whole is None or not isinstance(whole.type, RowType) or not isinstance(at, Literal):
        return "it has a row and the number of a field"
    if type(at.value) is not int or not 0 <= at.value < len(whole.type):
        return f"the row has fields 0 to {len(whole.type) - 1}"
    found = whole.type.fields[at.value].data_type
    return operands, found.with_nullability(found.is_nullable or whole.type.is_nullable)


def _element(operands: Sequence[Expression]) -> DataType:
    given = operands[0].type
    assert isinstance(given, ArrayType)
    return given.element_type.with_nullability(given.is_nullable or given.element_type.is_nullable)


def _element_nullable(operands: Sequence[Expression]) -> DataType:
    return _element(operands).nullable()


def _same(operands: Sequence[Expression]) -> DataType:
    return operands[0].type.with_nullability(operands[0].type.is_nullable)


def _with_element(rule: Callable[[ArrayType, Expression], DataType]) -> Callable[..., Answer]:
    """An array and a value of its element type."""

    def resolve(operands: Sequence[Expression]) -> Answer:
        if len(operands) != 2 or not isinstance(operands[0].type, ArrayType):
            return "it takes an array and an element"
        array = operands[0].type
        texts = isinstance(operands[1].type, CharacterStringType) and isinstance(
            array.element_type, CharacterStringType
        )
        if not texts and not supports_implicit_cast(operands[1].type, array.element_type):
            return f"the elements are {array.element_type.describe()}"
        element = cast_to(operands[1], array.element_type)
        return (operands[0], element), rule(array, element)

    return resolve


def _extended(array: ArrayType, element: Expression) -> DataType:
    inner = array.element_type
    inner = inner.with_nullability(inner.is_nullable or element.type.is_nullable)
    return ArrayType(inner, array.is_nullable or element.type.is_nullable)


def _arrays(least: int, most: int | None) -> Callable[..., Answer]:
    """Arrays of a common element type."""

    def resolve(operands: Sequence[Expression]) -> Answer:
        types = [operand.type for operand in operands]
        if len(types) < least or (most is not None and len(types) > most):
            return f"it takes {'at least ' if most is None else ''}{least} arrays"
        found = common_type(types) if all(isinstance(t, ArrayType) for t in types) else None
        if found is None:
            return "it takes arrays of a common type"
        return [cast_to(operand, found) for operand in operands], found

    return resolve


def _maps(operands: Sequence[Expression]) -> Answer:
    types = [operand.type for operand in operands]
    found = common_type(types) if types and all(isinstance(t, MapType) for t in types) else None
    if found is None:
        return "it takes maps of a common type"
    return [cast_to(operand, found) for operand in operands], found


def _map_part(pick: Callable[[MapType], DataType]) -> Callable[[Sequence[Expression]], DataType]:
    def rule(operands: Sequence[Expression]) -> DataType:
        given = operands[0].type
        assert isinstance(given, MapType)
        return ArrayType(pick(given), given.is_nullable)

    return rule


def _entry(given: MapType) -> DataType:
    return RowType((RowField("key", given.key_type), RowField("value", given.value_type)))


def _from_arrays(operands: Sequence[Expression]) -> DataType:
    keys, values = (operand.type for operand in operands)
    assert isinstance(keys, ArrayType)
    assert isinstance(values, ArrayType)
    return MapType(keys.element_type, values.element_type, any_nullable(operands))


def _collection(
    name: str, syntax: str, says: str, *ways: Signature | Resolver, fails: bool = False
) -> BuiltIn:
    signatures = tuple(way for way in ways if isinstance(way, Signature))
    resolver = next((way for way in ways if not isinstance(way, Signature)), None)
    return BuiltIn(name, "collection", syntax, says, signatures, resolver, fails=fails)


_ARRAY_BOOLEAN = _with_element(lambda array, element: DataTypes.BOOLEAN(array.is_nullable))
_ARRAY_INT = _with_element(
    lambda array, element: DataTypes.INT(array.is_nullable or element.type.is_nullable)
)

COLLECTION: tuple[BuiltIn, ...] = (
    _collection("ARRAY", "ARRAY[a, b, ...]", "an array of the values", _array),
    _collection("MAP", "MAP[k, v, ...]", "a map from keys to values", _map),
    _collection("ROW", "ROW(a, b, ...) or (a, b, ...)", "a row of the values", _row),
    _collection(
        "ITEM",
        "array[position], map[key] or variant[position or key]",
        "the element at a position, or the value of a key; NULL if there is none",
        _item,
    ),
    _collection("FIELD", "row.field", "the field of a row", _field),
    _collection(
        "CARDINALITY",
        "CARDINALITY(a)",
        "how many elements an array or a map has",
        signature("array", _INT),
        signature("map", _INT),
        signature("multiset", _INT),
    ),
    _collection(
        "ELEMENT",
        "ELEMENT(a)",
        "the only element of an array; NULL if it has none, and it fails if it has more",
        signature("array", _element),
        fails=True,
    ),
    _collection(
        "ARRAY_APPEND",
        "ARRAY_APPEND(a, element)",
        "the array with an element more",
        _with_element(_extended),
    ),
    _collection(
        "ARRAY_PREPEND",
        "ARRAY_PREPEND(a, element)",
        "the array with an element before the others",
        _with_element(_extended),
    ),
    _collection(
        "ARRAY_CONCAT",
        "ARRAY_CONCAT(a, b, ...)",
        "the arrays one after the other",
        _arrays(1, None),
    ),
    _collection(
        "ARRAY_CONTAINS",
        "ARRAY_CONTAINS(a, element)",
        "whether the element is in the array; NULL can be found, too",
        _ARRAY_BOOLEAN,
    ),
    _collection(
        "ARRAY_DISTINCT",
        "ARRAY_DISTINCT(a)",
        "the array without repetitions",
        signature("array", _same),
    ),
    _collection(
        "ARRAY_EXCEPT",
        "ARRAY_EXCEPT(a, b)",
        "the distinct elements of a that are not in b",
        _arrays(2, 2),
    ),
    _collection(
        "ARRAY_INTERSECT",
        "ARRAY_INTERSECT(a, b)",
        "the distinct elements of a that are in b",
        _arrays(2, 2),
    ),
    _collection(
        "ARRAY_UNION", "ARRAY_UNION(a, b)", "the distinct elements of a and b", _arrays(2, 2)
    ),
    _collection(
        "ARRAY_JOIN",
        "ARRAY_JOIN(a, separator [, null])",
        "the texts of an array with the separator between them; NULLs are left out, or replaced",
        signature("array, string [, string]", DataTypes.STRING()),
    ),
    _collection(
        "ARRAY_MAX",
        "ARRAY_MAX(a)",
        "the greatest element that is not NULL",
        signature("array", _element_nullable),
    ),
    _collection(
        "ARRAY_MIN",
        "ARRAY_MIN(a)",
        "the least element that is not NULL",
        signature("array", _element_nullable),
    ),
    _collection(
        "ARRAY_POSITION",
        "ARRAY_POSITION(a, element)",
        "where the element is first found; 0 if nowhere",
        _ARRAY_INT,
    ),
    _collection(
        "ARRAY_REMOVE",
        "ARRAY_REMOVE(a, element)",
        "the array without the elements that equal that one",
        _with_element(lambda array, element: array),
    ),
    _collection(
        "ARRAY_REVERSE", "ARRAY_REVERSE(a)", "the array backwards", signature("array", _same)
    ),
    _collection(
        "ARRAY_SLICE",
        "ARRAY_SLICE(a, start [, end])",
        "the elements from one position to another; negative ones count from the end",
        signature(
            "array, int [, int]",
            lambda operands: operands[0].type.with_nullability(any_nullable(operands)),
        ),
    ),
    _collection(
        "ARRAY_SORT",
        "ARRAY_SORT(a [, ascending [, nulls_first]])",
        "the array in order; ascending with NULLs first, or descending with NULLs last",
        signature("array [, boolean [, boolean]]", _same),
    ),
    _collection(
        "MAP_KEYS",
        "MAP_KEYS(m)",
        "the keys of a map as array",
        signature("map", _map_part(lambda m: m.key_type)),
    ),
    _collection(
        "MAP_VALUES",
        "MAP_VALUES(m)",
        "the values of a map as array",
        signature("map", _map_part(lambda m: m.value_type)),
    ),
    _collection(
        "MAP_ENTRIES",
        "MAP_ENTRIES(m)",
        "the entries of a map as array of rows",
        signature("map", _map_part(_entry)),
    ),
    _collection(
        "MAP_FROM_ARRAYS",
        "MAP_FROM_ARRAYS(keys, values)",
        "a map from arrays of keys and values, which must be of one length",
        signature("array, array", _from_arrays),
        fails=True,
    ),
    _collection(
        "MAP_UNION", "MAP_UNION(m, n, ...)", "the maps in one; of equal keys the last counts", _maps
    ),
)
