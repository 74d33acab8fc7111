"""Which accumulator computes a call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pyarrow as pa

from scurry.common.errors import ProgramError
from scurry.functions.aggregate_calls import AggregateCall
from scurry.runtime.relational.aggregates.accumulators import (
    Accumulator,
    Avg,
    Count,
    Edge,
    Extreme,
    Sum,
    Sum0,
    Variance,
)
from scurry.runtime.relational.aggregates.counted_values import (
    Distinct,
    ExtremeOfCounted,
    OpenRows,
)
from scurry.runtime.relational.aggregates.numbers import numeric
from scurry.runtime.relational.aggregates.objects import (
    ArrayAgg,
    Collect,
    EdgeOfList,
    ExtremeOfObjects,
    JsonArray,
    JsonObject,
    Lag,
    ListAgg,
    Percentile,
    SingleValue,
    UserAggregate,
)
from scurry.runtime.relational.aggregates.parts import (
    AvgOfParts,
    SumOfDoubles,
    SumOfSquares,
    VarianceOfParts,
)
from scurry.runtime.relational.aggregates.seen_values import SeenValues

_PLAIN: dict[str, type[Accumulator]] = {
    "COUNT": Count,
    "ROW_NUMBER": Count,
    "SUM": Sum,
    "SUM0": Sum0,
    "$SUM0": Sum0,
    "AVG": Avg,
    "$AVG": AvgOfParts,
    "$DOUBLES": SumOfDoubles,
    "$SQUARES": SumOfSquares,
    "$VAR_POP": VarianceOfParts,
    "$VAR_SAMP": VarianceOfParts,
    "$STDDEV_POP": VarianceOfParts,
    "$STDDEV_SAMP": VarianceOfParts,
    "VAR_POP": Variance,
    "VAR_SAMP": Variance,
    "VARIANCE": Variance,
    "STDDEV_POP": Variance,
    "STDDEV_SAMP": Variance,
    "STDDEV": Variance,
    "LISTAGG": ListAgg,
    "COLLECT": Collect,
    "ARRAY_AGG": ArrayAgg,
    "SINGLE_VALUE": SingleValue,
    "LAG": Lag,
    "JSON_ARRAYAGG": JsonArray,
    "JSON_OBJECTAGG": JsonObject,
    "PERCENTILE": Percentile,
}
_SAME = {
    "VARIANCE": "VAR_SAMP",
    "STDDEV": "STDDEV_SAMP",
    "$VAR_POP": "VAR_POP",
    "$VAR_SAMP": "VAR_SAMP",
    "$STDDEV_POP": "STDDEV_POP",
    "$STDDEV_SAMP": "STDDEV_SAMP",
}
#: The names of the built-in aggregates.
BUILT_IN = frozenset(
    {*(name for name in _PLAIN if name[0] != "$"), "MIN", "MAX", "FIRST_VALUE", "LAST_VALUE"}
)


def accumulator_of(
    call: AggregateCall,
    schema: pa.Schema,
    retracting: bool,
    number: int,
    rows: OpenRows,
    seen: Callable[[int, AggregateCall], SeenValues] | None = None,
) -> Accumulator:
    """What computes ``call`` over rows of ``schema``, the ``number``-th of its operator; ``rows``
    opens a table of rows, ``seen`` one of distinct values, if the operator has such."""
    kinds = [schema.field(index).type for index in call.arguments]
    if not call.distinct:
        return _of_all(call, kinds, retracting, number, rows)
    inner = replace(call, distinct=False)
    if call.function in ("MIN", "MAX"):
        return _of_all(inner, kinds, retracting, number, rows)
    every = _of_all(inner, kinds, retracting, number, rows)
    opened = None if seen is None else partial(seen, number, call)
    return Distinct(call, kinds, every, rows(f"distinct{number}", kinds), retracting, opened)


def _of_all(
    call: AggregateCall, kinds: list[pa.DataType], retracting: bool, number: int, rows: OpenRows
) -> Accumulator:
    name = call.function
    if not call.built_in:
        return UserAggregate(call, kinds)
    if name in ("MIN", "MAX"):
        if retracting:
            return ExtremeOfCounted(call, kinds, rows(f"values{number}", kinds))
        return (Extreme if numeric(kinds[0]) else ExtremeOfObjects)(call, kinds)
    if name in ("FIRST_VALUE", "LAST_VALUE"):
        return (EdgeOfList if retracting else Edge)(call, kinds)
    if name not in _PLAIN:
        raise ProgramError(
            f"There is no aggregate {name!r}; there are {', '.join(sorted(BUILT_IN))}, and "
            "functions of your own."
        )
    return _PLAIN[name](replace(call, function=_SAME.get(name, name)), kinds)
