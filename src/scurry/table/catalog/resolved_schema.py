"""Schemas after resolution: every type known, every expression typed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeVar

from scurry.common.data_types import DataType, DataTypes, RowType
from scurry.table.resolved_expression import ResolvedExpression
from scurry.table.schema import (
    Schema,
    UnresolvedColumn,
    UnresolvedComputedColumn,
    UnresolvedMetadataColumn,
    UnresolvedPhysicalColumn,
    UnresolvedPrimaryKey,
    UnresolvedWatermark,
)

__all__ = [
    "Column",
    "ComputedColumn",
    "Constraint",
    "MetadataColumn",
    "PhysicalColumn",
    "ResolvedExpression",
    "ResolvedSchema",
    "UniqueConstraint",
    "WatermarkSpec",
]

C = TypeVar("C", bound="Column")


@dataclass(frozen=True)
class Column:
    """A column whose type is known; made with :meth:`physical`, :meth:`computed` or
    :meth:`metadata`."""

    name: str
    data_type: DataType
    comment: str | None = None

    @staticmethod
    def physical(name: str, data_type: DataType) -> PhysicalColumn:
        """A column of the data itself."""
        return PhysicalColumn(name, data_type)

    @staticmethod
    def computed(name: str, resolved_expression: ResolvedExpression) -> ComputedColumn:
        """A column that is computed from others."""
        data_type = resolved_expression.get_output_data_type()
        return ComputedColumn(name, data_type, None, resolved_expression)

    @staticmethod
    def metadata(
        name: str, data_type: DataType, metadata_key: str | None, is_virtual: bool
    ) -> MetadataColumn:
        """A column that the connector knows."""
        return MetadataColumn(name, data_type, None, metadata_key, is_virtual)

    def with_comment(self: C, comment: str | None) -> C:
        """The same column with a comment."""
        return replace(self, comment=comment)

    def is_physical(self) -> bool:
        """Whether the column is of the data itself."""
        return False

    def is_persisted(self) -> bool:
        """Whether the column is written to a sink."""
        return False

    def get_data_type(self) -> DataType:
        """The type of the column's values."""
        return self.data_type

    def get_name(self) -> str:
        """The column's name."""
        return self.name

    def get_comment(self) -> str | None:
        """What the column is for."""
        return self.comment

    def explain_extras(self) -> str | None:
        """What SQL says of the column behind its name and type."""
        return None

    def as_summary_string(self) -> str:
        """The column as SQL declares it."""
        extras = self.explain_extras()
        note = "" if self.comment is None else self.comment.replace("'", "''")
        parts = (f"`{self.name}` {self.data_type}", extras, note and f"COMMENT '{note}'")
        return " ".join(part for part in parts if part)

    def copy(self: C, new_type: DataType) -> C:
        """The same column of another type."""
        return replace(self, data_type=new_type)

    def rename(self: C, new_name: str) -> C:
        """The same column under another name."""
        return replace(self, name=new_name)

    def __str__(self) -> str:
        return self.as_summary_string()


@dataclass(frozen=True)
class PhysicalColumn(Column):
    """A column of the data itself."""

    def copy(self, new_data_type: DataType) -> PhysicalColumn:
        """The same column of another type."""
        return replace(self, data_type=new_data_type)

    def is_physical(self) -> bool:
        return True

    def is_persisted(self) -> bool:
        return True


@dataclass(frozen=True)
class ComputedColumn(Column):
    """A column that is computed from others."""

    expression: ResolvedExpression | None = None

    def copy(self, new_data_type: DataType) -> ComputedColumn:
        """The same column of another type."""
        return replace(self, data_type=new_data_type)

    def get_expression(self) -> ResolvedExpression | None:
        """How the column is computed."""
        return self.expression

    def explain_extras(self) -> str | None:
        return f"AS {self.expression}"


@dataclass(frozen=True)
class MetadataColumn(Column):
    """A column that the connector knows."""

    metadata_key: str | None = None
    virtual: bool = False

    def copy(self, new_data_type: DataType) -> MetadataColumn:
        """The same column of another type."""
        return replace(self, data_type=new_data_type)

    def is_virtual(self) -> bool:
        """Whether the column is only read."""
        return self.virtual

    def is_persisted(self) -> bool:
        return not self.virtual

    def get_metadata_key(self) -> str | None:
        """The connector's name for it, None if that is the column's."""
        return self.metadata_key

    def explain_extras(self) -> str | None:
        source = "" if self.metadata_key is None else f" FROM '{self.metadata_key}'"
        return f"METADATA{source}{' VIRTUAL' if self.virtual else ''}"


@dataclass(frozen=True)
class WatermarkSpec:
    """Which column is the rowtime, and the expression of the watermark."""

    rowtime_attribute: str
    watermark_expression: ResolvedExpression

    @staticmethod
    def of(rowtime_attribute: str, watermark_expression: ResolvedExpression) -> WatermarkSpec:
        """The watermark of a column."""
        return WatermarkSpec(rowtime_attribute, watermark_expression)

    def get_rowtime_attribute(self) -> str:
        """The column."""
        return self.rowtime_attribute

    def get_watermark_expression(self) -> ResolvedExpression:
        """How far time has come with a row."""
        return self.watermark_expression

    def as_summary_string(self) -> str:
        """The watermark as SQL declares it."""
        kind = self.watermark_expression.get_output_data_type()
        return f"WATERMARK FOR `{self.rowtime_attribute}`: {kind} AS {self.watermark_expression}"

    def __str__(self) -> str:
        return self.as_summary_string()


@dataclass(frozen=True)
class Constraint:
    """What is promised of the rows of a table."""

    name: str = ""

    class ConstraintType(Enum):
        """What kind of promise."""

        PRIMARY_KEY = 0
        UNIQUE_KEY = 1

    def get_name(self) -> str:
        """The name of the constraint."""
        return self.name

    def is_enforced(self) -> bool:
        """Whether somebody checks it: nobody does."""
        return False

    def get_type(self) -> Constraint.ConstraintType:
        """What kind of promise it is."""
        raise NotImplementedError

    def as_summary_string(self) -> str:
        """The constraint as SQL declares it."""
        raise NotImplementedError


@dataclass(frozen=True)
class UniqueConstraint(Constraint):
    """Columns that tell rows apart."""

    columns: tuple[str, ...] = ()

    @staticmethod
    def primary_key(name: str, columns: Sequence[str]) -> UniqueConstraint:
        """A primary key."""
        return UniqueConstraint(name, tuple(columns))

    def get_type(self) -> Constraint.ConstraintType:
        """PRIMARY_KEY."""
        return Constraint.ConstraintType.PRIMARY_KEY

    def get_columns(self) -> list[str]:
        """The columns."""
        return list(self.columns)

    def get_type_string(self) -> str:
        """``PRIMARY KEY``."""
        return "PRIMARY KEY"

    def as_summary_string(self) -> str:
        """The key as SQL declares it."""
        columns = ", ".join(f"`{column}`" for column in self.columns)
        return f"CONSTRAINT `{self.name}` PRIMARY KEY ({columns}) NOT ENFORCED"

    def __str__(self) -> str:
        return self.as_summary_string()


@dataclass(frozen=True)
class ResolvedSchema:
    """Columns, watermarks and the primary key of a table, all of them resolved."""

    columns: tuple[Column, ...] = ()
    watermark_specs: tuple[WatermarkSpec, ...] = ()
    primary_key: UniqueConstraint | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "watermark_specs", tuple(self.watermark_specs))

    @staticmethod
    def of(columns: Sequence[Column]) -> ResolvedSchema:
        """A schema of nothing but columns."""
        return ResolvedSchema(tuple(columns))

    @staticmethod
    def physical(
        column_names: Sequence[str], column_data_types: Sequence[DataType]
    ) -> ResolvedSchema:
        """A schema of nothing but physical columns."""
        pairs = zip(column_names, column_data_types, strict=True)
        return ResolvedSchema(tuple(Column.physical(name, kind) for name, kind in pairs))

    def notes(self) -> dict[str | None, list[str]]:
        """What the older form of a schema shows beside names and types: of columns by their names,
        and of the table."""
        found: dict[str | None, list[str]] = {
            column.name: [extras] for column in self.columns if (extras := column.explain_extras())
        }
        marks = [str(mark).replace("`", "", 2) for mark in self.watermark_specs]
        key = self.primary_key
        if key is not None:
            marks.append(f"CONSTRAINT {key.name} PRIMARY KEY ({', '.join(key.columns)})")
        return {**found, None: marks}

    def get_column_count(self) -> int:
        """How many columns there are."""
        return len(self.columns)

    def get_columns(self) -> list[Column]:
        """All columns."""
        return list(self.columns)

    def get_column_names(self) -> list[str]:
        """The names of all columns."""
        return [column.name for column in self.columns]

    def get_column_data_types(self) -> list[DataType]:
        """The types of all columns."""
        return [column.data_type for column in self.columns]

    def get_column(self, column_index_or_name: int | str) -> Column | None:
        """A column by position or name, None if there is no such column."""
        if isinstance(column_index_or_name, int):
            within = 0 <= column_index_or_name < len(self.columns)
            return self.columns[column_index_or_name] if within else None
        return next((one for one in self.columns if one.name == column_index_or_name), None)

    def get_watermark_specs(self) -> list[WatermarkSpec]:
        """The watermarks; there is one at most."""
        return list(self.watermark_specs)

    def get_primary_key(self) -> UniqueConstraint | None:
        """The primary key."""
        return self.primary_key

    def get_primary_key_indexes(self) -> list[int]:
        """Where the columns of the primary key are among the physical ones."""
        names = [column.name for column in self.columns if column.is_physical()]
        return [] if self.primary_key is None else list(map(names.index, self.primary_key.columns))

    def to_source_row_data_type(self) -> RowType:
        """All columns as a row: what a query sees."""
        return _row(self.columns)

    def to_physical_row_data_type(self) -> RowType:
        """The physical columns as a row: what a format reads and writes."""
        return _row([column for column in self.columns if column.is_physical()])

    def to_sink_row_data_type(self) -> RowType:
        """The columns that are written, as a row."""
        return _row([column for column in self.columns if column.is_persisted()])

    def to_unresolved(self) -> Schema:
        """The schema as one would declare it."""
        key = self.primary_key
        return Schema(
            tuple(map(_unresolved, self.columns)),
            tuple(
                UnresolvedWatermark(mark.rowtime_attribute, str(mark.watermark_expression))
                for mark in self.watermark_specs
            ),
            None if key is None else UnresolvedPrimaryKey(key.name, key.columns),
        )

    def __str__(self) -> str:
        key = () if self.primary_key is None else (self.primary_key,)
        parts = [str(part) for part in (*self.columns, *self.watermark_specs, *key)]
        return "(\n  " + ",\n  ".join(parts) + "\n)"


def _row(columns: Sequence[Column]) -> RowType:
    row = DataTypes.ROW([DataTypes.FIELD(one.name, one.data_type) for one in columns])
    assert isinstance(row, RowType)
    return row


def _unresolved(column: Column) -> UnresolvedColumn:
    if isinstance(column, ComputedColumn):
        return UnresolvedComputedColumn(column.name, str(column.expression), column.comment)
    if isinstance(column, MetadataColumn):
        return UnresolvedMetadataColumn(
            column.name, column.data_type, column.metadata_key, column.virtual, column.comment
        )
    return UnresolvedPhysicalColumn(column.name, column.data_type, column.comment)
