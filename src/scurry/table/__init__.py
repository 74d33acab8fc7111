"""Tables and SQL, under PyFlink's names.

    from scurry.table import EnvironmentSettings, TableEnvironment

    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    words = env.from_elements([("a",), ("b",), ("a",)], ["word"])
    env.sql_query(f"SELECT word, COUNT(*) FROM {words} GROUP BY word").execute().print()

A table that changes is a stream of changes: rows are inserted (``+I``), updated (``-U``, ``+U``)
and deleted (``-D``). Queries are planned by :mod:`scurry.planner` and run as jobs like those of
DataStreams.
"""

from __future__ import annotations

from scurry.common.data_types import DataTypes
from scurry.common.data_types.user_defined import UserDefinedType
from scurry.common.types import Row, RowKind
from scurry.functions.udfs import (
    AggregateFunction,
    AsyncScalarFunction,
    DataView,
    FunctionContext,
    ListView,
    MapView,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
)
from scurry.table.changelog_mode import ChangelogMode
from scurry.table.compiled_plan import CompiledPlan
from scurry.table.environment_settings import EnvironmentSettings
from scurry.table.explain_detail import ExplainDetail
from scurry.table.expression import Expression
from scurry.table.grouped_tables import (
    GroupedTable,
    GroupWindowedTable,
    OverWindowedTable,
    WindowGroupedTable,
)
from scurry.table.module import Module, ModuleEntry
from scurry.table.plan_reference import PlanReference
from scurry.table.result_kind import ResultKind
from scurry.table.schema import Schema
from scurry.table.sql_dialect import SqlDialect
from scurry.table.statement_set import StatementSet
from scurry.table.stream_table_environment import StreamTableEnvironment
from scurry.table.table import Table
from scurry.table.table_config import TableConfig
from scurry.table.table_descriptor import FormatDescriptor, TableDescriptor
from scurry.table.table_environment import TableEnvironment
from scurry.table.table_pipeline import TablePipeline
from scurry.table.table_result import TableResult
from scurry.table.table_schema import TableSchema

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "ChangelogMode",
    "CompiledPlan",
    "DataTypes",
    "DataView",
    "EnvironmentSettings",
    "ExplainDetail",
    "Expression",
    "FormatDescriptor",
    "FunctionContext",
    "GroupWindowedTable",
    "GroupedTable",
    "ListView",
    "MapView",
    "Module",
    "ModuleEntry",
    "OverWindowedTable",
    "PlanReference",
    "ResultKind",
    "Row",
    "RowKind",
    "ScalarFunction",
    "Schema",
    "SqlDialect",
    "StatementSet",
    "StreamTableEnvironment",
    "Table",
    "TableAggregateFunction",
    "TableConfig",
    "TableDescriptor",
    "TableEnvironment",
    "TableFunction",
    "TablePipeline",
    "TableResult",
    "TableSchema",
    "UserDefinedType",
    "WindowGroupedTable",
]
