"""Plan nodes that read and write tables behind connectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from scurry.common.changelog import ChangelogMode
from scurry.common.errors import ProgramError, ScurryError
from scurry.common.options import tables
from scurry.connectors.files.read_filter import ReadFilter, SkippingSource
from scurry.connectors.projected import ProjectedSource
from scurry.functions.not_null import NotNull
from scurry.functions.source import Source
from scurry.plan import nodes
from scurry.plan.node import Node as PlanNode
from scurry.plan.relational import Calc
from scurry.planner.catalog import ScanRequest
from scurry.table.catalog.resolved_schema import ResolvedSchema
from scurry.table.factories import (
    ScanSource,
    TableContext,
    TableSink,
    factory_of,
    make_sink,
    make_source,
)
from scurry.table.lookup_access import make_lookup


class ConnectorAccess:
    """Makes the nodes of one table; connectors are made when they are first needed."""

    def __init__(self, context: TableContext) -> None:
        self._context = context
        self._source: ScanSource | None = None
        self._sink: TableSink | None = None

    def scan_mode(self) -> ChangelogMode:
        """Which changes the table gives; a table that cannot be read gives none. Changes of which
        some may come twice are upserts."""
        made = self._maybe_source()
        if made is None:
            return ChangelogMode.INSERT_ONLY
        twice = tables.CDC_DUPLICATES.read(self._context.configuration)
        if made.changelog is not ChangelogMode.RETRACT or not twice:
            return made.changelog
        if not self._context.schema.get_primary_key():
            raise ProgramError(
                f"The table {self._context.name} may be told of changes twice, by "
                f"'{tables.CDC_DUPLICATES.key}', and so needs PRIMARY KEY (...) NOT ENFORCED."
            )
        return ChangelogMode.UPSERT

    def sink_mode(self) -> ChangelogMode:
        """Which changes the table takes; found out when it is written."""
        try:
            return self._made_sink().changelog
        except ScurryError:
            return ChangelogMode.RETRACT

    def bounded(self) -> bool:
        """Whether the table has an end."""
        made = self._maybe_source()
        return True if made is None else made.bounded

    def _maybe_source(self) -> ScanSource | None:
        """The source, None if the table cannot be read: whoever reads it is told why."""
        try:
            return self._made_source()
        except ScurryError:
            return None

    def _made_source(self) -> ScanSource:
        if self._source is None:
            self._source = make_source(self._context)
        return self._source

    def _made_sink(self) -> TableSink:
        if self._sink is None:
            self._sink = make_sink(self._context)
        return self._sink

    def scan(self, request: ScanRequest) -> PlanNode:
        """A source of just the columns of the request, cast to their types."""
        wanted = [column.name for column in request.columns]
        made = self._made_source()
        if factory_of(self._context).projects(self._context):
            made = make_source(self._narrowed(wanted))
        schema = pa.schema([(one.name, one.type.arrow_type()) for one in request.columns])
        source: Source = made.source
        if request.filters and isinstance(source, SkippingSource):
            source = source.skipping(ReadFilter(request.filters, wanted))
        if source.relation is None or not source.relation.equals(schema):
            source = ProjectedSource(source, made.row_type.field_names(), schema)
        return nodes.Source(name=f"Source: {self._context.name}", source=source)

    def _narrowed(self, wanted: Sequence[str]) -> TableContext:
        """The table with just these columns, and one that is no partition: those have no rows."""
        schema = self._context.schema
        kept = tuple(column for column in schema.columns if column.name in wanted)
        keys = self._context.partition_keys
        if keys and all(column.name in keys for column in kept):
            kept = (next(one for one in schema.columns if one.name not in keys), *kept)
        return replace(self._context, schema=ResolvedSchema(kept), declared=schema)

    def lookup(self, request: ScanRequest, keys: tuple[str, ...]) -> Any | None:
        """What finds rows by key, None if the connector cannot."""
        names = [column.name for column in request.columns]
        schema = pa.schema([(one.name, one.type.arrow_type()) for one in request.columns])
        return make_lookup(self._context, names, schema, keys)

    def sink(self, source: PlanNode, mode: ChangelogMode) -> PlanNode:
        """The node that writes, behind one that looks after NOT NULL columns."""
        made = self._made_sink()
        names = [f"Sink: {self._context.name}", f"ConstraintEnforcer: {self._context.name}"]
        needed = [at for at, field in enumerate(made.row_type) if not field.data_type.is_nullable]
        if needed:
            schema = source.schema
            assert schema is not None
            drop = tables.NOT_NULL_ENFORCER.read(self._context.configuration) == "DROP"
            check = NotNull(needed, made.row_type.field_names(), self._context.name, drop)
            source = Calc(
                name=names[1], inputs=(source,), columns=schema, mode=mode, condition=check
            )
        return nodes.Sink(
            name=names[0], inputs=(source,), sink=made.sink, parallelism=made.parallelism
        )
