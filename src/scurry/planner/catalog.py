"""What the binder asks a catalogue for, and what it gets: tables, views, functions.

A front end keeps catalogues in whatever form it likes; here is only the question and the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from scurry.common.changelog import ChangelogMode
from scurry.common.data_types import DataType
from scurry.functions.expressions import Expression
from scurry.functions.udfs.wrappers import UserDefinedFunctionWrapper
from scurry.plan.node import Node as PlanNode
from scurry.planner.algebra import Column, Node
from scurry.sql import ast


@dataclass(frozen=True)
class ScanRequest:
    """What a scan has to give: these physical and metadata columns, in this order.

    ``filters`` are predicates over those columns, all of which hold for the rows that are needed. A
    source may use them to read less; the planner filters again in any case. ``limit`` is a number
    of rows after which no more are needed, if known. ``uid`` is for the operator that reads: a
    table may be read more than once in a job.
    """

    columns: tuple[Column, ...]
    filters: tuple[Expression, ...] = ()
    limit: int | None = None
    uid: str = ""


class TableAccess(Protocol):
    """How a table is read, looked up and written; the front end makes plan nodes of connectors."""

    def scan(self, request: ScanRequest) -> PlanNode:
        """A plan node whose schema is the columns of the request, and whose records have kinds as
        the table's ``mode`` says."""

    def lookup(self, request: ScanRequest, keys: tuple[str, ...]) -> Any | None:
        """An object for :class:`scurry.plan.relational.LookupJoin` that finds rows by these
        columns, or None if the connector cannot."""

    def sink(self, source: PlanNode, mode: ChangelogMode) -> PlanNode:
        """The plan node that writes the records of ``source``, which are of the table's physical
        columns and of this mode."""


@dataclass(frozen=True)
class TableColumn:
    """A column of a table: physical, of metadata (``metadata`` is its key), or computed."""

    name: str
    type: DataType | None = None
    expression: ast.Expression | None = None
    metadata: str | None = None
    virtual: bool = False

    @property
    def computed(self) -> bool:
        """Whether its values are computed from others when the table is read."""
        return self.expression is not None

    @property
    def persisted(self) -> bool:
        """Whether it is written."""
        return not self.computed and not self.virtual


@dataclass(frozen=True)
class WatermarkDefinition:
    """``WATERMARK FOR column AS expression``."""

    column: tuple[str, ...]
    expression: ast.Expression


@dataclass(frozen=True, eq=False)
class Table:
    """A table of a catalogue, or one that a program described.

    ``mode`` says which changes a scan gives: with ``UPSERT`` there must be a primary key. For sinks
    ``accepts`` says what they take: INSERT_ONLY, UPSERT (by the primary key) or RETRACT.
    """

    path: tuple[str, ...]
    columns: tuple[TableColumn, ...]
    access: TableAccess
    primary_key: tuple[str, ...] = ()
    watermark: WatermarkDefinition | None = None
    mode: ChangelogMode = ChangelogMode.INSERT_ONLY
    accepts: ChangelogMode = ChangelogMode.RETRACT
    options: Mapping[str, str] = field(default_factory=dict)
    #: whether all rows are there when the job starts
    bounded: bool = False

    def with_options(self, options: Mapping[str, str]) -> Table:
        """The table under other options, for the hint OPTIONS; front ends override this."""
        return self

    @property
    def name(self) -> str:
        """The name as messages show it."""
        return ".".join(self.path)


@dataclass(frozen=True)
class View:
    """A query with a name. ``columns`` are other names for its columns, if given."""

    path: tuple[str, ...]
    query: ast.QueryNode
    columns: tuple[str, ...] = ()


class Catalog(Protocol):
    """What knows tables and functions by name; the current catalog and database are its own
    business."""

    @property
    def batch(self) -> bool:
        """Whether queries read their tables to the end and send final rows only."""

    def find_table(self, names: tuple[str, ...]) -> Table | View | Node | None:
        """The table, view, or bound tree of that name."""

    def table_names(self) -> Iterable[str]:
        """Names that exist, for messages about names that do not."""

    def find_function(self, names: tuple[str, ...]) -> UserDefinedFunctionWrapper | None:
        """The user's function of that name; built-in functions are not asked for here."""

    def function_names(self) -> Iterable[str]:
        """Names of the user's functions, for messages."""
