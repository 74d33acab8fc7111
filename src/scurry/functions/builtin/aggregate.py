"""Functions of many rows: aggregates, and those that need the rows around a row (OVER)."""

from __future__ import annotations

from collections.abc import Sequence

from scurry.common.data_types import (
    ArrayType,
    DataType,
    DataTypes,
    MultisetType,
    average_type,
    summed_type,
)
from scurry.functions.builtin.entry import BuiltIn, Kind, Status
from scurry.functions.builtin.signatures import Signature, nullable, signature
from scurry.functions.expressions import Expression

__all__ = ["AGGREGATE"]

_BITMAPS = "bitmaps are not implemented"
#: the length that Flink declares for the texts of JSON aggregates; longer ones are kept whole
_JSON_LENGTH = 2000


def _count(operands: Sequence[Expression]) -> DataType:
    return DataTypes.BIGINT(False)


def _first(operands: Sequence[Expression]) -> DataType:
    return operands[0].type.nullable()


def _sum(operands: Sequence[Expression]) -> DataType:
    return summed_type(operands[0].type).nullable()


def _sum_not_null(operands: Sequence[Expression]) -> DataType:
    return summed_type(operands[0].type).not_null()


def _average(operands: Sequence[Expression]) -> DataType:
    return average_type(operands[0].type).nullable()


def _deviation(operands: Sequence[Expression]) -> DataType:
    """The type of variances and deviations: that of AVG."""
    return average_type(operands[0].type).nullable()


def _percentile(operands: Sequence[Expression]) -> DataType:
    several = isinstance(operands[1].type, ArrayType)
    return DataTypes.ARRAY(DataTypes.DOUBLE()) if several else DataTypes.DOUBLE()


def _aggregate(
    name: str, syntax: str, says: str, *ways: Signature, also: str = "", missing: str = ""
) -> BuiltIn:
    return BuiltIn(
        name,
        "aggregate",
        syntax,
        says,
        tuple(ways),
        aliases=tuple(also.split()),
        kind=Kind.AGGREGATE,
        status=Status.NOTIMPL if missing else Status.SUPPORTED,
        reason=missing,
    )


def _ranking(name: str, syntax: str, says: str, *ways: Signature) -> BuiltIn:
    return BuiltIn(
        name,
        "aggregate",
        f"{syntax} OVER (...)",
        says,
        tuple(ways),
        kind=Kind.WINDOW,
    )


_BATCH_ONLY = "Flink computes it in batch mode only"

AGGREGATE: tuple[BuiltIn, ...] = (
    _aggregate(
        "COUNT",
        "COUNT([DISTINCT] a, ...) or COUNT(*)",
        "how many rows there are in which the values are not NULL",
        signature("", _count),
        signature("any, ...", _count),
    ),
    _aggregate(
        "SUM", "SUM([DISTINCT] a)", "the sum; NULL if there is no value", signature("numeric", _sum)
    ),
    _aggregate(
        "$SUM0",
        "SUM0([DISTINCT] a)",
        "the sum; 0 if there is no value",
        signature("numeric", _sum_not_null),
        also="SUM0",
    ),
    _aggregate(
        "AVG",
        "AVG([DISTINCT] a)",
        "the average, an integer if the values are",
        signature("numeric", _average),
    ),
    _aggregate("MAX", "MAX([DISTINCT] a)", "the greatest value", signature("ordered", _first)),
    _aggregate("MIN", "MIN([DISTINCT] a)", "the least value", signature("ordered", _first)),
    _aggregate(
        "STDDEV_POP",
        "STDDEV_POP([DISTINCT] a)",
        "the standard deviation of a population",
        signature("numeric", _deviation),
    ),
    _aggregate(
        "STDDEV_SAMP",
        "STDDEV_SAMP([DISTINCT] a)",
        "the standard deviation of a sample",
        signature("numeric", _deviation),
        also="STDDEV",
    ),
    _aggregate(
        "VAR_POP",
        "VAR_POP([DISTINCT] a)",
        "the variance of a population",
        signature("numeric", _deviation),
    ),
    _aggregate(
        "VAR_SAMP",
        "VAR_SAMP([DISTINCT] a)",
        "the variance of a sample",
        signature("numeric", _deviation),
        also="VARIANCE",
    ),
    _aggregate(
        "COLLECT",
        "COLLECT([DISTINCT] a)",
        "the values as a multiset",
        signature("any", lambda o: MultisetType(o[0].type, False)),
    ),
    _aggregate(
        "ARRAY_AGG",
        "ARRAY_AGG([DISTINCT] a [{RESPECT | IGNORE} NULLS])",
        "the values as an array",
        signature("any", lambda o: ArrayType(o[0].type)),
    ),
    _aggregate(
        "LISTAGG",
        "LISTAGG(a [, separator])",
        "the texts with the separator, ',' if left out, between them",
        signature("string [, string]", nullable(DataTypes.STRING())),
    ),
    _aggregate("FIRST_VALUE", "FIRST_VALUE(a)", "the first value", signature("any", _first)),
    _aggregate("LAST_VALUE", "LAST_VALUE(a)", "the last value", signature("any", _first)),
    _aggregate(
        "SINGLE_VALUE",
        "a scalar query",
        "the only value; fails if there are several",
        signature("any", _first),
    ),
    _aggregate(
        "JSON_OBJECTAGG",
        "JSON_OBJECTAGG([KEY] a VALUE b [{NULL | ABSENT} ON NULL])",
        "a JSON object of the rows",
        signature("string, any", lambda o: DataTypes.VARCHAR(_JSON_LENGTH, False)),
    ),
    _aggregate(
        "JSON_ARRAYAGG",
        "JSON_ARRAYAGG(a [{NULL | ABSENT} ON NULL])",
        "a JSON array of the rows",
        signature("any", lambda o: DataTypes.VARCHAR(_JSON_LENGTH, False)),
    ),
    _aggregate(
        "APPROX_COUNT_DISTINCT",
        "APPROX_COUNT_DISTINCT(a)",
        "about how many different values there are",
        signature("any", _count),
        missing=_BATCH_ONLY + "; use COUNT(DISTINCT a)",
    ),
    _aggregate(
        "PERCENTILE",
        "PERCENTILE(a, percentage [, frequency])",
        "the value below which that share of the values lies",
        signature("numeric, any [, integer]", _percentile),
    ),
    _aggregate(
        "GROUPING",
        "GROUPING(a)",
        "1 if the row is a total over a, else 0",
        signature("any", _count),
    ),
    _aggregate(
        "GROUPING_ID",
        "GROUPING_ID(a, b, ...)",
        "the GROUPING of each as bits of a number",
        signature("any, ...", _count),
    ),
    _aggregate(
        "GROUP_ID",
        "GROUP_ID()",
        "which of several equal groupings a row belongs to",
        signature("", _count),
    ),
    *(
        _aggregate(
            name,
            f"{name}(a)",
            says,
            signature("any", nullable(DataTypes.BYTES())),
            missing=_BITMAPS,
        )
        for name, says in (
            ("BITMAP_BUILD_AGG", "a bitmap of the integers"),
            ("BITMAP_BUILD_CARDINALITY_AGG", "how many different integers there are"),
            ("BITMAP_AND_AGG", "the intersection of bitmaps"),
            ("BITMAP_AND_CARDINALITY_AGG", "the size of the intersection of bitmaps"),
            ("BITMAP_OR_AGG", "the union of bitmaps"),
            ("BITMAP_OR_CARDINALITY_AGG", "the size of the union of bitmaps"),
            ("BITMAP_XOR_AGG", "the symmetric difference of bitmaps"),
            ("BITMAP_XOR_CARDINALITY_AGG", "the size of the symmetric difference of bitmaps"),
        )
    ),
    _ranking("ROW_NUMBER", "ROW_NUMBER()", "the number of the row", signature("", _count)),
    *(
        _ranking(name, f"{name}()", says, signature("", _count))
        for name, says in (
            ("RANK", "the rank, with gaps after equal rows"),
            ("DENSE_RANK", "the rank, without gaps"),
        )
    ),
    _ranking(
        "LAG",
        "LAG(a [, offset [, default]])",
        "the value some rows before",
        signature("any [, int [, any]]", _first),
    ),
    _ranking(
        "LEAD",
        "LEAD(a [, offset [, default]])",
        "the value some rows after",
        signature("any [, int [, any]]", _first),
    ),
    _ranking(
        "CUME_DIST",
        "CUME_DIST()",
        "the share of rows up to this one",
        signature("", lambda o: DataTypes.DOUBLE(False)),
    ),
    _ranking(
        "PERCENT_RANK",
        "PERCENT_RANK()",
        "the rank as a share",
        signature("", lambda o: DataTypes.DOUBLE(False)),
    ),
    _ranking(
        "NTILE",
        "NTILE(n)",
        "which of n groups of equal size the row is in",
        signature("int", _count),
    ),
)
