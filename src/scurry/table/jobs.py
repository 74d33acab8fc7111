"""From bound queries to running jobs.

A statement becomes steps of the stream environment, as every program does: a step whose plan nodes
are made by the planner, when the job is compiled, from the nodes of the streams that the query
reads. So a job of SQL and a job of DataStreams are one thing, also where a program mixes them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from scurry.common.changelog import ChangelogMode
from scurry.common.data_types import DataTypes, RowType
from scurry.common.errors import ProgramError
from scurry.common.job_client import JobClient
from scurry.common.options import execution, tables
from scurry.common.types import Row, RowKind
from scurry.connectors.tables.driver_rows import CollectRows
from scurry.datastream.transformation import Transformation
from scurry.functions.aggregate_calls import AggregateCall, ColumnsKey
from scurry.plan import nodes
from scurry.plan.node import Node as PlanNode
from scurry.plan.relational import RecordTimes, TableAggregate
from scurry.planner.algebra import Node, Scan, Union, walk
from scurry.planner.bind.inserts import written
from scurry.planner.bind.subqueries import subqueries_of
from scurry.planner.catalog import ScanRequest, Table, TableColumn
from scurry.planner.columns import Column
from scurry.planner.errors import SqlValidationError
from scurry.planner.explain import explain
from scurry.planner.options import PlannerOptions
from scurry.planner.plan import plan_query
from scurry.planner.plan_inserts import plan_inserts
from scurry.table.catalog.resolved_schema import ResolvedSchema
from scurry.table.explain_detail import ExplainDetail
from scurry.table.frames import data_frame
from scurry.table.planner_options import options_of
from scurry.table.relations import row_type_of
from scurry.table.result_kind import ResultKind
from scurry.table.table_pipeline import TablePipeline
from scurry.table.table_result import TableResult
from scurry.table.tableau import Tableau

if TYPE_CHECKING:
    import pandas as pd

    from scurry.table.table import Table as ApiTable
    from scurry.table.table_environment import TableEnvironment

__all__ = ["Jobs", "StreamAccess"]

_frozen: ContextVar[dict[Transformation, PlanNode]] = ContextVar("frozen")


@contextmanager
def _with_inputs(steps: Sequence[Transformation], made: Sequence[PlanNode]) -> Iterator[None]:
    """While a query is planned: the nodes of the streams that it reads."""
    token = _frozen.set(dict(zip(steps, made, strict=True)))
    try:
        yield
    finally:
        _frozen.reset(token)


class StreamAccess:
    """Reads a DataStream as a table: ``convert`` makes the columns of a request of its node."""

    def __init__(
        self,
        step: Transformation,
        convert: Callable[[PlanNode, ScanRequest], PlanNode],
    ) -> None:
        self.step = step
        self._convert = convert

    def scan(self, request: ScanRequest) -> PlanNode:
        """The stream's own node, with its records as columns."""
        return self._convert(_frozen.get()[self.step], request)

    def lookup(self, request: ScanRequest, keys: tuple[str, ...]) -> Any | None:
        """Streams cannot be looked up."""
        return None

    def sink(self, source: PlanNode, mode: ChangelogMode) -> PlanNode:
        """Streams cannot be written to by a query."""
        raise ProgramError("A table made of a DataStream cannot be written to: use a sink.")


def _step(make: Any, name: str, streams: Sequence[Transformation]) -> Transformation:
    """A step whose kind is what makes its plan node."""
    return Transformation(make, name, streams)


class _PlannedInserts:
    """INSERTs that are planned together, once for each time that a program is compiled."""

    def __init__(self, inserts: Sequence[tuple[Node, Table]], options: PlannerOptions) -> None:
        self._inserts = inserts
        self._options = options
        found = [step for node, _ in inserts for step in streams_of(node)]
        self.streams = list(dict.fromkeys(found))
        self._made: tuple[tuple[PlanNode, ...], list[PlanNode]] | None = None

    def make(self, at: int, *, inputs: tuple[PlanNode, ...] = (), **known: Any) -> PlanNode:
        """The node of one INSERT, over the nodes of the streams as they are now."""
        if self._made is None or at == 0 or self._made[0] != inputs:
            with _with_inputs(self.streams, inputs):
                self._made = (inputs, plan_inserts(self._inserts, self._options))
        return self._made[1][at]


def _by_target(inserts: Sequence[tuple[Node, Table]]) -> list[tuple[Node, Table]]:
    """One INSERT for each table: the rows of several INSERTs into it are united."""
    nodes: dict[int, list[Node]] = {}
    targets: dict[int, Table] = {}
    for node, target in inserts:
        nodes.setdefault(id(target.access), []).append(node)
        targets[id(target.access)] = target
    return [
        (found[0] if len(found) == 1 else Union(tuple(found), span=found[0].span), targets[one])
        for one, found in nodes.items()
    ]


def streams_of(node: Node) -> list[Transformation]:
    """The steps of the streams that a query reads, also within its conditions and values."""
    found: dict[Transformation, None] = {}
    for one in walk(node):
        for subquery in subqueries_of(one):
            found.update(dict.fromkeys(streams_of(subquery.query)))
        access = one.table.access if isinstance(one, Scan) else None
        if isinstance(access, StreamAccess):
            found[access.step] = None
        elif isinstance(access, _TableAggregation):
            found.update(dict.fromkeys(streams_of(access.node)))
    return list(found)


@dataclass
class StartedJob:
    """A job that was started, for SHOW JOBS."""

    client: JobClient
    name: str
    started_ms: int


class Jobs:
    """Plans queries and starts jobs for one table environment."""

    def __init__(self, environment: TableEnvironment) -> None:
        self._environment = environment
        self.started: list[StartedJob] = []

    # --- steps

    def relation_step(self, node: Node, rowtime: int | None = None) -> Transformation:
        """A step whose records are the rows of a query, with the timestamps that the column
        ``rowtime`` says."""
        options = options_of(self._environment)
        streams = streams_of(node)

        def make(*, inputs: tuple[PlanNode, ...] = (), **known: Any) -> PlanNode:
            with _with_inputs(streams, inputs):
                planned = plan_query(node, options).node
            if rowtime is None:
                return planned
            schema = planned.schema
            assert schema is not None, "a query has columns"
            mode = planned.changelog or ChangelogMode.INSERT_ONLY
            return RecordTimes(
                name="rowtime", inputs=(planned,), columns=schema, mode=mode, rowtime=rowtime
            )

        return _step(make, "SQL query", streams)

    def sink_steps(self, pipelines: Sequence[TablePipeline]) -> list[Transformation]:
        """A step for each table that is written to; they are planned together."""
        inserts = _by_target([self._fitted(one) for one in pipelines])
        planned = _PlannedInserts(inserts, options_of(self._environment))
        return [
            _step(partial(planned.make, at), f"Insert into {target.name}", planned.streams)
            for at, (_, target) in enumerate(inserts)
        ]

    def _fitted(self, pipeline: TablePipeline) -> tuple[Node, Table]:
        """A query with the columns of its target, cast to their types, and the target."""
        node, target = pipeline.table.relation, self._target(pipeline)
        names = [column.name for column in target.columns if column.persisted]
        if len(names) != len(node.columns):
            raise SqlValidationError(
                f"The query has {len(node.columns)} columns, and {target.name} {len(names)} that "
                "are written",
                node.span,
                f"They are {', '.join(names)}.",
            )
        return written(node, target, names, {}, node.span), target

    def _target(self, pipeline: TablePipeline) -> Table:
        if pipeline.overwrite:
            raise ProgramError(
                f"INSERT OVERWRITE into {pipeline.target.as_summary_string()}: no connector can "
                "overwrite. Empty the target yourself, and INSERT INTO it."
            )
        environment = self._environment
        found = environment.catalogs.table(pipeline.target.to_list())
        if found.table.kind == "VIEW":
            raise ProgramError(
                f"{pipeline.target.as_summary_string()} is a view, which cannot be written to."
            )
        return environment.session_catalog.described(found)

    # --- running

    def collect(self, table: ApiTable) -> TableResult:
        """Run a query whose rows come here as they change."""
        node = table.relation
        sink, client = self._collecting(node)
        row_type = table.row_type
        schema = ResolvedSchema.physical(row_type.field_names(), row_type.field_types())
        config = self._environment.get_config()
        width = tables.MAX_COLUMN_WIDTH.read(config.get_configuration())
        zone = config.get_local_timezone()
        tableau = Tableau(schema, self._environment.streaming, width, zone, by_type=True)
        rows = _until_end(sink, client)
        kind = ResultKind.SUCCESS_WITH_CONTENT
        return TableResult(kind, schema, rows, job=client, tableau=tableau)

    def _collecting(self, node: Node) -> tuple[CollectRows, JobClient]:
        sink = CollectRows(row_type_of(node))
        step = Transformation(nodes.Sink, "Collect", [self.relation_step(node)], sink=sink)
        return sink, self._start([step], "collect")

    def to_pandas(self, table: ApiTable) -> pd.DataFrame:
        """Run a query to its end; the table that its changes amount to."""
        sink, client = self._collecting(table.relation)
        kept = table_of(_until_end(sink, client))
        return data_frame(table.row_type, [tuple(row) for row in kept])

    def insert(self, pipelines: Sequence[TablePipeline]) -> TableResult:
        """Run INSERTs as one job; with ``table.dml-sync`` until it ends."""
        steps = self.sink_steps(pipelines)
        names = [pipeline.target.as_summary_string() for pipeline in pipelines]
        client = self._start(steps, f"insert-into_{','.join(names)}")
        schema = ResolvedSchema.physical(names, [DataTypes.BIGINT()] * len(names))
        rows = _affected(client, len(names))
        kind = ResultKind.SUCCESS_WITH_CONTENT
        result = TableResult(kind, schema, rows, job=client, of_insert=True)
        configuration = self._environment.get_config().get_configuration()
        if tables.DML_SYNC.read(configuration):
            result.wait()
        return result

    def _start(self, steps: Sequence[Transformation], name: str) -> JobClient:
        configuration = self._environment.get_config().get_configuration()
        stream = self._environment.stream_environment
        named = name
        if execution.JOB_NAME.is_set(configuration):
            named = execution.JOB_NAME.read(configuration)
        degree = tables.DEFAULT_PARALLELISM.read(configuration)
        client = stream.execute_steps(steps, named, degree if degree > 0 else None)
        self.started.append(StartedJob(client, named, int(time.time() * 1000)))
        return client

    # --- explaining

    def explain(
        self,
        queries: Sequence[Node],
        pipelines: Sequence[TablePipeline],
        details: Sequence[ExplainDetail],
    ) -> str:
        """How queries would be run."""
        changelog = ExplainDetail.CHANGELOG_MODE in details
        options = options_of(self._environment)
        parts = [explain(node, changelog, options=options) for node in queries]
        for pipeline in pipelines:
            node, target = self._fitted(pipeline)
            upserts = target.accepts is ChangelogMode.UPSERT
            text = explain(node, changelog, update_before=not upserts, options=options)
            parts.append(f"Sink: {target.name}\n{text}")
        if ExplainDetail.ESTIMATED_COST in details:
            parts.append("== Estimated Cost ==\nnone: the planner has no cost model")
        if ExplainDetail.JSON_EXECUTION_PLAN in details:
            parts.append(f"== Physical Execution Plan ==\n{self._described(queries, pipelines)}")
        return "\n\n".join(parts)

    def _described(self, queries: Sequence[Node], pipelines: Sequence[TablePipeline]) -> str:
        steps = self.sink_steps(pipelines)
        for node in queries:
            sink = CollectRows(row_type_of(node))
            read = self.relation_step(node)
            steps.append(Transformation(nodes.Sink, "Collect", [read], sink=sink))
        return self._environment.stream_environment.describe_steps(steps)

    # --- table aggregates

    def bind_table_aggregate(self, prepared: ApiTable, keys: Sequence[str], call: Any) -> Node:
        """A relation of the keys and of what a table aggregate function emits for each group."""
        function = call.node.function
        if function is None:
            names = call.node.name.names
            function = self._environment.session_catalog.find_function(names)
        if function is None or function.kind != "table_aggregate":
            raise ProgramError(
                f"flat_aggregate takes a table aggregate function made with udtaf, got {call}."
            )
        access = _TableAggregation(self, prepared.relation, len(keys), function)
        columns = (
            *(TableColumn(one, prepared.row_type[one].data_type) for one in keys),
            *(TableColumn(one.name, one.data_type) for one in access.emitted),
        )
        table = Table(("table aggregate",), columns, access, mode=ChangelogMode.RETRACT)
        return scan_of(table)


def scan_of(table: Table) -> Node:
    """All columns of a table."""
    columns = tuple(Column(one.name, one.type) for one in table.columns if one.type is not None)
    return Scan(table, columns)


class _TableAggregation:
    """Reads what a table aggregate function makes of the groups of a query."""

    def __init__(self, jobs: Jobs, node: Node, keys: int, function: Any) -> None:
        self.node = node
        self._jobs = jobs
        self._keys = keys
        self._function = function
        types = [column.type for column in node.columns[keys:]]
        (result,) = function.resolve(types)[0].result_types
        whole = result if isinstance(result, RowType) else RowType.of(["f0"], [result])
        self.emitted = list(whole)

    def scan(self, request: ScanRequest) -> PlanNode:
        """Key by the group's columns, and run the function."""
        planned = plan_query(self.node, options_of(self._jobs._environment))
        key = ColumnsKey(*range(self._keys))
        keyed = nodes.KeyBy(name="group", inputs=(planned.node,), selector=key)
        width = len(self.node.columns)
        arguments = tuple(range(self._keys, width))
        kinds = [
            *((one.name, one.type.arrow_type()) for one in self.node.columns[: self._keys]),
            *((one.name, one.data_type.arrow_type()) for one in self.emitted),
        ]
        call = AggregateCall(self._function.function(), arguments)
        return TableAggregate(
            name="TableAggregate",
            inputs=(keyed,),
            columns=pa.schema(kinds),
            mode=ChangelogMode.RETRACT,
            call=call,
            retracting=planned.node.changelog is not ChangelogMode.INSERT_ONLY,
        )

    def lookup(self, request: ScanRequest, keys: tuple[str, ...]) -> Any | None:
        """Cannot be looked up."""
        return None

    def sink(self, source: PlanNode, mode: ChangelogMode) -> PlanNode:
        """Cannot be written to."""
        raise ProgramError("The result of flat_aggregate cannot be written to.")


def _until_end(sink: CollectRows, client: JobClient) -> Iterator[Row]:
    yield from sink.rows()
    client.result()


def _affected(client: JobClient, targets: int) -> Iterator[Row]:
    """How many rows were written is not known, as in Flink; it is said when the job has ended."""
    client.result()
    yield Row(*[-1] * targets)


def table_of(changes: Iterable[Row]) -> list[Row]:
    """The rows that changes amount to, in the order in which they came. Of equal rows the latest is
    taken back; fields may be lists and maps, so rows are told apart by their texts."""
    kept: dict[int, Row] = {}
    places: dict[str, list[int]] = {}
    for number, row in enumerate(changes):
        same = places.setdefault(repr(tuple(row)), [])
        if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
            kept[number] = row
            same.append(number)
        elif same:
            del kept[same.pop()]
    return list(kept.values())
