"""Tables and DataStreams in one program."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from scurry.common.changelog import ChangelogMode as Mode
from scurry.common.data_types import DataTypes, RawType, RowType
from scurry.common.errors import ProgramError
from scurry.common.row_types import CompositeTypeInfo
from scurry.common.type_information import TypeInformation
from scurry.common.types import Row, RowKind
from scurry.connectors.tables.external_values import row_converter
from scurry.datastream.plain_stream import DataStream
from scurry.datastream.stream_execution_environment import StreamExecutionEnvironment
from scurry.functions.adapters import map_function
from scurry.plan.node import Node as PlanNode
from scurry.plan.nodes import Map
from scurry.plan.relational import StreamColumns
from scurry.planner.catalog import ScanRequest
from scurry.planner.time_attributes import as_rowtime, is_rowtime
from scurry.sql import ast
from scurry.table.changelog_mode import ChangelogMode
from scurry.table.environment_settings import EnvironmentSettings
from scurry.table.expression_time import WINDOW_PROPERTIES
from scurry.table.expressions import col
from scurry.table.jobs import StreamAccess
from scurry.table.schema import (
    Schema,
    UnresolvedColumn,
    UnresolvedComputedColumn,
    UnresolvedMetadataColumn,
    UnresolvedPhysicalColumn,
    UnresolvedWatermark,
)
from scurry.table.session_catalog import InlineTable, as_type
from scurry.table.stream_types import column_form, row_type_of, stream_type
from scurry.table.table import Table
from scurry.table.table_config import TableConfig
from scurry.table.table_environment import TableEnvironment

__all__ = ["StreamTableEnvironment"]


class StreamTableEnvironment(TableEnvironment):
    """A table environment on a StreamExecutionEnvironment of the program's."""

    @staticmethod
    def create(  # type: ignore[override]
        stream_execution_environment: StreamExecutionEnvironment | None = None,
        environment_settings: EnvironmentSettings | None = None,
    ) -> StreamTableEnvironment:
        """An environment whose jobs are built and run in the stream environment; without settings
        of its own it has those of the stream environment, and so its mode of execution."""
        stream = stream_execution_environment
        if stream is None:
            stream = StreamExecutionEnvironment.get_execution_environment()
        if not isinstance(stream, StreamExecutionEnvironment):
            raise ProgramError(
                f"StreamTableEnvironment.create takes a StreamExecutionEnvironment, got {stream!r}."
            )
        settings = environment_settings
        if settings is None:
            builder = EnvironmentSettings.new_instance()
            settings = builder.with_configuration(stream.get_configuration()).build()
        return StreamTableEnvironment(settings, stream)

    def get_config(self) -> TableConfig:
        """Settings that count from the next statement on."""
        return self._config

    def from_data_stream(self, data_stream: DataStream, *fields_or_schema: Any) -> Table:
        """A table of a stream's elements, each a row that is added. A Schema may declare computed
        columns, a rowtime (``column_by_metadata("ts", type, "rowtime")``), a watermark
        (``SOURCE_WATERMARK()`` for that of the stream) and a key. Instead of a Schema there may be
        fields: the names of the columns, ``col("ts").rowtime`` for the timestamps of the elements
        and ``col("pt").proctime`` for processing time."""
        schema = self._schema_argument("from_data_stream", data_stream, fields_or_schema)
        table = self._from_stream(data_stream, schema, Mode.INSERT_ONLY)
        if not any(isinstance(one, Schema) for one in fields_or_schema):
            table.declared = None
        return table

    def from_changelog_stream(
        self,
        data_stream: DataStream,
        schema: Schema | None = None,
        changelog_mode: ChangelogMode | None = None,
    ) -> Table:
        """A table of a stream of Rows, whose kinds say what they do to it."""
        mode = Mode.RETRACT
        if changelog_mode is not None and not changelog_mode.contains(RowKind.UPDATE_BEFORE):
            mode = Mode.UPSERT if changelog_mode.contains(RowKind.DELETE) else Mode.INSERT_ONLY
        if mode is Mode.UPSERT and (schema is None or schema.primary_key is None):
            raise ProgramError(
                "from_changelog_stream: a changelog of upserts needs a Schema with primary_key(...)"
            )
        return self._from_stream(data_stream, schema, mode)

    def create_temporary_view(self, view_path: str, table_or_data_stream: Any, *args: Any) -> None:
        """Give a Table, or a DataStream with perhaps a Schema, a name."""
        if isinstance(table_or_data_stream, DataStream):
            table_or_data_stream = self.from_data_stream(table_or_data_stream, *args)
        super().create_temporary_view(view_path, table_or_data_stream)

    def to_data_stream(self, table: Table) -> DataStream:
        """The rows of a table that only grows, as a stream of Rows."""
        return self._stream("to_data_stream", table)

    def to_changelog_stream(
        self,
        table: Table,
        target_schema: Schema | None = None,
        changelog_mode: ChangelogMode | None = None,
    ) -> DataStream:
        """The changes of a table, as a stream of Rows with their kinds."""
        if target_schema is not None:
            table = self._cast_to(table, target_schema)
        stream = self._stream("to_changelog_stream", table)
        if changelog_mode is not None and not changelog_mode.contains(RowKind.UPDATE_BEFORE):
            stream = stream.filter(_no_old_row)
        return stream

    def to_append_stream(self, table: Table, type_info: TypeInformation) -> DataStream:
        """The rows of a table that only grows, as elements of that type."""
        return self.to_data_stream(table).map(_as_type(type_info), output_type=type_info)

    def to_retract_stream(self, table: Table, type_info: TypeInformation) -> DataStream:
        """The changes of a table as pairs: whether the row is added, and the row."""
        built = _as_type(type_info)
        return self.to_changelog_stream(table).map(lambda row: (_adds(row), built(row)))

    # --- helpers

    def _schema_argument(self, method: str, stream: Any, given: tuple[Any, ...]) -> Schema | None:
        if not isinstance(stream, DataStream):
            raise ProgramError(f"{method} takes a DataStream, got {stream!r}.")
        if not given:
            return None
        if len(given) == 1 and isinstance(given[0], Schema):
            return given[0]
        return _schema_of_fields(method, row_type_of(_elements_of(stream)), given)

    def _from_stream(self, stream: DataStream, schema: Schema | None, mode: Mode) -> Table:
        elements = _elements_of(stream)
        held = row_type_of(elements)
        known = dict(zip(held.field_names(), range(len(held)), strict=True))
        declared = _columns(held, schema)
        columns = [*_read_by_computed(held, declared), *declared]
        physical = [one for one in columns if isinstance(one, UnresolvedPhysicalColumn)]
        by_name = all(one.name in known for one in physical)
        if not by_name and len(physical) != len(held):
            raise _other_columns(stream, [one.name for one in physical], held)
        places = {one.name: known[one.name] if by_name else at for at, one in enumerate(physical)}
        whole = schema or Schema()
        marks = whole.watermarks
        of_stream = {
            one.column for one in marks if "SOURCE_WATERMARK" in str(one.expression).upper()
        }
        marks = tuple(one for one in marks if one.column not in of_stream)
        columns = [
            replace(one, data_type=as_rowtime(as_type(one.data_type)))
            if one.name in of_stream
            else one
            for one in columns
        ]
        schema = Schema(tuple(columns), marks, whole.primary_key)

        def convert(node: PlanNode, request: ScanRequest) -> PlanNode:
            return _projected(node, request, elements, places, mode)

        self.stream_environment.add_table(stream._transformation)
        access = StreamAccess(stream._transformation, convert)
        inline = InlineTable(schema, access=access, mode=mode, bounded=False)
        table = self.from_path(self.add_unnamed(inline).as_serializable_string())
        if len(columns) > len(declared):
            return table.select(*(col(one.name) for one in declared))
        table.declared = replace(schema, watermarks=whole.watermarks)
        return table

    def _cast_to(self, table: Table, schema: Schema) -> Table:
        fields = []
        for column in schema.columns:
            if isinstance(column, UnresolvedPhysicalColumn):
                fields.append(col(column.name).cast(as_type(column.data_type)).alias(column.name))
        return table.select(*fields)

    def _stream(self, method: str, table: Table) -> DataStream:
        step = self.jobs.relation_step(table.relation, _rowtime_of(method, table.row_type))
        step.type_info = stream_type(table.row_type)
        step.declared = step.type_info is not None
        stream = DataStream(self.stream_environment, step)
        kinds = [field.data_type for field in table.row_type]
        if any(kind.children or isinstance(kind, RawType) for kind in kinds):
            return stream.map(_Nested(table.row_type))
        return stream


def _rowtime_of(method: str, row_type: RowType) -> int | None:
    """The column that is event time, None if there is none."""
    found = [at for at, field in enumerate(row_type) if is_rowtime(field.data_type)]
    if len(found) > 1:
        names = ", ".join(row_type.field_names()[at] for at in found)
        raise ProgramError(
            f"{method}: {names} are all event time, and an element of a stream has one timestamp. "
            "Cast all of them but one to TIMESTAMP(3) or TIMESTAMP_LTZ(3)."
        )
    return found[0] if found else None


class _Nested:
    """Rows whose nested values are Rows, dicts and what was pickled, not Arrow's forms of them."""

    def __init__(self, row_type: RowType) -> None:
        self._row_type = row_type

    def __call__(self, row: Row) -> Row:
        convert = row_converter(self._row_type)
        made = convert(dict(zip(self._row_type.field_names(), row, strict=True)))
        made.set_row_kind(row.get_row_kind())
        return made


def _no_old_row(row: Row) -> bool:
    return row.get_row_kind() is not RowKind.UPDATE_BEFORE


def _adds(row: Row) -> bool:
    return row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)


def _as_type(type_info: TypeInformation) -> Any:
    if isinstance(type_info, CompositeTypeInfo):
        return lambda row: type_info.build(tuple(row))
    return lambda row: row[0]


def _elements_of(stream: DataStream) -> TypeInformation:
    """The type of a stream's elements, as a table's columns hold them."""
    return column_form(stream._transformation.type_info)


def _other_columns(stream: DataStream, names: list[str], held: RowType) -> ProgramError:
    wanted = f"from_data_stream: the schema has the columns {', '.join(names)}"
    if stream._transformation.type_info is None:
        return ProgramError(
            f"{wanted}, but the type of the stream's elements is not known. Give "
            "output_type=Types.ROW_NAMED(...) in the step before."
        )
    return ProgramError(f"{wanted}, but the stream has {', '.join(held.field_names())}.")


def _schema_of_fields(method: str, held: RowType, given: tuple[Any, ...]) -> Schema:
    """A schema of fields: names of columns, and time attributes among them."""
    columns: list[UnresolvedColumn] = []
    marks = []
    types = iter([field.data_type for field in held])
    for one in given:
        kind, name = _field(one)
        if kind == "rowtime":
            columns.append(UnresolvedMetadataColumn(name, DataTypes.TIMESTAMP(3), "rowtime"))
            marks.append(UnresolvedWatermark(name, "SOURCE_WATERMARK()"))
        elif kind == "proctime":
            columns.append(UnresolvedComputedColumn(name, "PROCTIME()"))
        else:
            columns.append(UnresolvedPhysicalColumn(name, next(types, DataTypes.NULL())))
    count = sum(isinstance(one, UnresolvedPhysicalColumn) for one in columns)
    if count != len(held):
        raise ProgramError(
            f"{method}: {count} names for {len(held)} columns: {held.field_names()}."
        )
    return Schema(tuple(columns), tuple(marks))


def _field(given: Any) -> tuple[str | None, str]:
    """Which time attribute a field is, None if it is a column, and its name."""
    node = getattr(given, "node", given)
    if isinstance(node, ast.FunctionCall):
        for kind in ("rowtime", "proctime"):
            if str(node.name) == WINDOW_PROPERTIES[kind]:
                return kind, str(node.arguments[0])
    return None, str(node)


def _columns(held: RowType, schema: Schema | None) -> list[Any]:
    declared = [] if schema is None else list(schema.columns)
    if any(isinstance(one, UnresolvedPhysicalColumn) for one in declared):
        return declared
    physical = [UnresolvedPhysicalColumn(field.name, field.data_type) for field in held]
    return [*physical, *declared]


def _read_by_computed(held: RowType, declared: list[Any]) -> list[UnresolvedColumn]:
    """Fields of the elements that a schema does not declare: its computed columns may read them."""
    names = [one.name for one in declared]
    physical = [one.name for one in declared if isinstance(one, UnresolvedPhysicalColumn)]
    computed = any(isinstance(one, UnresolvedComputedColumn) for one in declared)
    if not computed or not set(physical) <= set(held.field_names()):
        return []
    return [
        UnresolvedPhysicalColumn(field.name, field.data_type)
        for field in held
        if field.name not in names
    ]


def _projected(
    node: PlanNode,
    request: ScanRequest,
    elements: TypeInformation,
    places: dict[str, int],
    mode: Mode,
) -> PlanNode:
    """The columns of a request, made of a stream's elements."""
    schema = pa.schema([(one.name, one.type.arrow_type()) for one in request.columns])
    picked = tuple(places.get(column.name) for column in request.columns)
    known = node.schema is not None or node.type_info is None
    return StreamColumns(
        name="DataStream to table",
        inputs=(node if known else _checked(node),),
        columns=schema,
        mode=mode,
        elements=elements,
        places=picked,
    )


def _checked(node: PlanNode) -> PlanNode:
    """The elements of a step that hands its input's type on, held to it: what a reduce function
    returns, for instance, nobody has checked."""
    return Map(
        name="check the type",
        inputs=(node,),
        function=map_function(_same),
        type_info=node.type_info,
        declared=True,
    )


def _same(value: Any) -> Any:
    return value
