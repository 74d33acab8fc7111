"""Functions of the user's for SQL and tables: contracts, and decorators that declare them."""

from __future__ import annotations

from scurry.functions.udfs.contracts import (
    AggregateFunction,
    AsyncScalarFunction,
    FunctionContext,
    ImperativeAggregateFunction,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
    UserDefinedFunction,
)
from scurry.functions.udfs.data_views import DataView, ListView, MapView
from scurry.functions.udfs.decorators import udaf, udf, udtaf, udtf
from scurry.functions.udfs.overloads import Overload
from scurry.functions.udfs.wrappers import (
    UserDefinedAggregateFunctionWrapper,
    UserDefinedAsyncScalarFunctionWrapper,
    UserDefinedFunctionWrapper,
    UserDefinedScalarFunctionWrapper,
    UserDefinedTableFunctionWrapper,
)

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "DataView",
    "FunctionContext",
    "ImperativeAggregateFunction",
    "ListView",
    "MapView",
    "Overload",
    "ScalarFunction",
    "TableAggregateFunction",
    "TableFunction",
    "UserDefinedAggregateFunctionWrapper",
    "UserDefinedAsyncScalarFunctionWrapper",
    "UserDefinedFunction",
    "UserDefinedFunctionWrapper",
    "UserDefinedScalarFunctionWrapper",
    "UserDefinedTableFunctionWrapper",
    "udaf",
    "udf",
    "udtaf",
    "udtf",
]
