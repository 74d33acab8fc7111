"""A catalogue in memory for tests of the planner, and queries run in the local engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from scurry.common.changelog import ChangelogMode
from scurry.common.data_types import data_type_from_text
from scurry.functions.udfs.wrappers import UserDefinedFunctionWrapper
from scurry.plan.node import Node as PlanNode
from scurry.planner.algebra import Node
from scurry.planner.bind import bind_query
from scurry.planner.catalog import ScanRequest, Table, TableColumn, View, WatermarkDefinition
from scurry.planner.explain import explain
from scurry.planner.options import PlannerOptions
from scurry.planner.plan import plan_query
from scurry.sql.ast import ComputedColumn, CreateTable, MetadataColumn, PhysicalColumn
from scurry.sql.parser import parse_query, parse_statement
from scurry.sql.unparse import unparse
from scurry.testing.relations import Change, changes_of, relation


@dataclass
class Rows:
    """A table's changes; a scan gives those columns that it asks for."""

    name: str
    columns: tuple[TableColumn, ...]
    changes: list[Change]
    mode: ChangelogMode
    requests: list[ScanRequest] = field(default_factory=list)

    def scan(self, request: ScanRequest) -> PlanNode:
        self.requests.append(request)
        names = [column.name for column in self.columns if not column.computed]
        chosen = [names.index(column.name) for column in request.columns]
        schema = pa.schema([(c.name, c.type.arrow_type()) for c in request.columns])
        picked = [(change[0], *(change[1 + at] for at in chosen)) for change in self.changes]
        return replace(relation(schema, picked, self.name, self.mode), uid=request.uid)

    def lookup(self, request: ScanRequest, keys: tuple[str, ...]) -> Any | None:
        return None

    def sink(self, source: PlanNode, mode: ChangelogMode) -> PlanNode:
        raise NotImplementedError


@dataclass
class Tables:
    """The catalogue: tables by CREATE TABLE with their rows, views, functions."""

    tables: dict[str, Table | View | Node] = field(default_factory=dict)
    functions: dict[str, UserDefinedFunctionWrapper] = field(default_factory=dict)
    batch: bool = False

    def create(
        self,
        statement: str,
        changes: Iterable[Change] = (),
        mode: ChangelogMode | None = None,
    ) -> Rows:
        """A table of the changes; rows without a kind are insertions."""
        made = parse_statement(statement)
        assert isinstance(made, CreateTable)
        listed = [c if c and c[0] in ("+I", "-U", "+U", "-D") else ("+I", *c) for c in changes]
        grows = all(change[0] == "+I" for change in listed)
        mode = mode or (ChangelogMode.INSERT_ONLY if grows else ChangelogMode.RETRACT)
        columns = tuple(map(_column, made.columns))
        rows = Rows(str(made.name), columns, listed, mode)
        key = () if made.primary_key is None else tuple(c.name for c in made.primary_key.columns)
        watermark = None
        if made.watermark is not None:
            watermark = WatermarkDefinition(made.watermark.column.names, made.watermark.expression)
        self.tables[str(made.name)] = Table(
            made.name.names, columns, rows, key, watermark, mode=mode, options=_options(made)
        )
        return rows

    def create_view(self, name: str, query: str, columns: tuple[str, ...] = ()) -> None:
        self.tables[name] = View((name,), parse_query(query, f"view {name}"), columns)

    def find_table(self, names: tuple[str, ...]) -> Table | View | Node | None:
        return self.tables.get(".".join(names))

    def table_names(self) -> Iterable[str]:
        return self.tables

    def find_function(self, names: tuple[str, ...]) -> UserDefinedFunctionWrapper | None:
        return self.functions.get(".".join(names))

    def function_names(self) -> Iterable[str]:
        return self.functions

    # --- running ----------------------------------------------------------------------------------

    def bind(self, query: str) -> Node:
        return bind_query(parse_query(query), self)

    def optimised(self, query: str) -> str:
        """The query's plan as text."""
        return explain(self.bind(query))

    def changes(
        self, query: str, options: PlannerOptions | None = None, **how: Any
    ) -> list[Change]:
        """What a query sends, run in the local engine."""
        return changes_of(plan_query(self.bind(query), options).node, **how)

    def rows(self, query: str, **how: Any) -> list[tuple[Any, ...]]:
        """The rows that a query's changes amount to, sorted."""
        return table_rows(self.changes(query, **how))


def table_rows(changes: Iterable[Change]) -> list[tuple[Any, ...]]:
    """The rows that changes amount to, sorted by their text."""
    rows: list[tuple[Any, ...]] = []
    for kind, *row in changes:
        if kind in ("+I", "+U"):
            rows.append(tuple(row))
        else:
            rows.remove(tuple(row))
    return sorted(rows, key=repr)


def _column(column: Any) -> TableColumn:
    if isinstance(column, ComputedColumn):
        return TableColumn(column.name.name, expression=column.expression)
    assert isinstance(column, PhysicalColumn | MetadataColumn)
    kind = data_type_from_text(unparse(column.type))
    if isinstance(column, MetadataColumn):
        return TableColumn(column.name.name, kind, metadata=column.key or column.name.name)
    return TableColumn(column.name.name, kind)


def _options(made: CreateTable) -> Mapping[str, str]:
    return {option.key.value: option.value.value for option in made.options}
