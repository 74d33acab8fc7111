"""Schemas as they are declared: columns, time attributes, keys, none of them looked up yet.

A column is *physical* (it is read from, and written to, the outside), *computed* (an expression
over the others) or *metadata* (something the connector knows of each row, such as the time stamp
of a Kafka record). Types and expressions may be texts; they are resolved when the table is first
used, and a table that is created is resolved at once so that mistakes show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from scurry.common.data_types import DataType, RowType
from scurry.common.errors import ProgramError

if TYPE_CHECKING:
    from scurry.table.catalog.resolved_schema import ResolvedSchema
    from scurry.table.expression import Expression

__all__ = ["Schema", "UnresolvedColumn"]


@dataclass(frozen=True)
class UnresolvedPhysicalColumn:
    """A column of the data itself."""

    name: str
    data_type: DataType | str
    comment: str | None = None

    def __str__(self) -> str:
        return f"`{self.name}` {self.data_type}{_comment(self.comment)}"


@dataclass(frozen=True)
class UnresolvedComputedColumn:
    """A column that is computed from others; ``expression`` is SQL, or of the Table API."""

    name: str
    expression: str | Expression
    comment: str | None = None

    def __str__(self) -> str:
        return f"`{self.name}` AS {_written(self.expression)}{_comment(self.comment)}"


@dataclass(frozen=True)
class UnresolvedMetadataColumn:
    """A column that the connector knows; ``key`` is the connector's name for it."""

    name: str
    data_type: DataType | str
    key: str | None = None
    virtual: bool = False
    comment: str | None = None

    def __str__(self) -> str:
        source = "" if self.key is None else f" FROM '{self.key}'"
        virtual = " VIRTUAL" if self.virtual else ""
        return f"`{self.name}` {self.data_type} METADATA{source}{virtual}{_comment(self.comment)}"


UnresolvedColumn: TypeAlias = (
    UnresolvedPhysicalColumn | UnresolvedComputedColumn | UnresolvedMetadataColumn
)


@dataclass(frozen=True)
class UnresolvedWatermark:
    """Which column is the rowtime, and the expression of the watermark."""

    column: str
    expression: str | Expression

    def __str__(self) -> str:
        return f"WATERMARK FOR `{self.column}` AS {_written(self.expression)}"


@dataclass(frozen=True)
class UnresolvedPrimaryKey:
    """The columns that tell rows apart, and the name of that constraint."""

    name: str
    columns: tuple[str, ...]

    def __str__(self) -> str:
        columns = ", ".join(f"`{column}`" for column in self.columns)
        return f"CONSTRAINT `{self.name}` PRIMARY KEY ({columns}) NOT ENFORCED"


@dataclass(frozen=True)
class Schema:
    """A schema that is not resolved yet; made with :meth:`new_builder`."""

    columns: tuple[UnresolvedColumn, ...] = ()
    watermarks: tuple[UnresolvedWatermark, ...] = ()
    primary_key: UnresolvedPrimaryKey | None = None

    @staticmethod
    def new_builder() -> Schema.Builder:
        """A builder of a schema without columns."""
        return Schema.Builder()

    def __str__(self) -> str:
        key = () if self.primary_key is None else (self.primary_key,)
        parts = [str(part) for part in (*self.columns, *self.watermarks, *key)]
        return "(\n  " + ",\n  ".join(parts) + "\n)"

    class Builder:
        """Declares columns in order, then time attributes and keys."""

        def __init__(self) -> None:
            self._columns: list[UnresolvedColumn] = []
            self._watermarks: list[UnresolvedWatermark] = []
            self._key: UnresolvedPrimaryKey | None = None

        def from_schema(self, unresolved_schema: Schema) -> Schema.Builder:
            """Take over everything of another schema."""
            self._columns.extend(unresolved_schema.columns)
            self._watermarks.extend(unresolved_schema.watermarks)
            if unresolved_schema.primary_key is not None:
                self._key = unresolved_schema.primary_key
            return self

        def from_resolved_schema(self, resolved_schema: ResolvedSchema) -> Schema.Builder:
            """Take over everything of a schema that was resolved."""
            return self.from_schema(resolved_schema.to_unresolved())

        def from_row_data_type(self, data_type: DataType) -> Schema.Builder:
            """The fields of a row type as physical columns."""
            if not isinstance(data_type, RowType):
                raise ProgramError(f"from_row_data_type takes a ROW type, got {data_type!r}.")
            for name, field in zip(data_type.field_names(), data_type.field_types(), strict=True):
                self.column(name, field)
            return self

        def from_fields(
            self, field_names: Sequence[str], field_data_types: Sequence[DataType]
        ) -> Schema.Builder:
            """Physical columns of those names and types."""
            if len(field_names) != len(field_data_types):
                raise ProgramError(
                    f"from_fields takes a type for each name, got {len(field_names)} names and "
                    f"{len(field_data_types)} types."
                )
            for name, data_type in zip(field_names, field_data_types, strict=True):
                self.column(name, data_type)
            return self

        def column(self, column_name: str, data_type: str | DataType) -> Schema.Builder:
            """A physical column."""
            kind = _type(column_name, data_type)
            self._columns.append(UnresolvedPhysicalColumn(_name(column_name), kind))
            return self

        def column_by_expression(self, column_name: str, expr: str | Expression) -> Schema.Builder:
            """A column that is computed from others."""
            self._columns.append(UnresolvedComputedColumn(_name(column_name), expr))
            return self

        def column_by_metadata(
            self,
            column_name: str,
            data_type: DataType | str,
            metadata_key: str | None = None,
            is_virtual: bool = False,
        ) -> Schema.Builder:
            """A column that the connector knows; a virtual one is only read."""
            kind = _type(column_name, data_type)
            self._columns.append(
                UnresolvedMetadataColumn(_name(column_name), kind, metadata_key, is_virtual)
            )
            return self

        def with_comment(self, comment: str) -> Schema.Builder:
            """A comment on the column that was declared last."""
            if not self._columns:
                raise ProgramError("with_comment belongs behind the column that it is about.")
            self._columns[-1] = replace(self._columns[-1], comment=comment)
            return self

        def watermark(self, column_name: str, watermark_expr: str | Expression) -> Schema.Builder:
            """Make a column the rowtime; the expression says how far time has come with a row."""
            self._watermarks.append(UnresolvedWatermark(_name(column_name), watermark_expr))
            return self

        def primary_key(self, *column_names: str) -> Schema.Builder:
            """The columns that tell rows apart; nobody checks it."""
            return self.primary_key_named("PK_" + "_".join(map(str, column_names)), *column_names)

        def primary_key_named(self, constraint_name: str, *column_names: str) -> Schema.Builder:
            """The same, as a constraint of that name."""
            if self._key is not None:
                raise ProgramError("A table has one primary key: it was declared twice.")
            if not column_names:
                raise ProgramError("A primary key needs at least one column.")
            columns = tuple(map(_name, column_names))
            self._key = UnresolvedPrimaryKey(constraint_name, columns)
            return self

        def build(self) -> Schema:
            """The schema."""
            return Schema(tuple(self._columns), tuple(self._watermarks), self._key)


def _name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise ProgramError(f"The name of a column is a text, got {name!r}.")
    return name


def _type(column: object, data_type: object) -> DataType | str:
    if not isinstance(data_type, DataType | str):
        raise ProgramError(
            f"The type of the column {column!r} is a DataType such as DataTypes.INT(), or its text "
            f"in SQL, got {data_type!r}."
        )
    return data_type


def _written(expression: str | Expression) -> str:
    """An expression of a schema that is not resolved; texts of SQL stand in brackets."""
    return f"[{expression}]" if isinstance(expression, str) else str(expression)


def _comment(comment: str | None) -> str:
    return "" if comment is None else f" COMMENT '{comment}'"
