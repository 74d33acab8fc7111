"""Tables and formats as Python objects: what ``CREATE TABLE ... WITH (...)`` says in SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scurry.common.config_options import ConfigOption
from scurry.common.configuration import Configuration
from scurry.common.errors import ProgramError
from scurry.table.catalog.objects import CatalogTable
from scurry.table.schema import Schema

__all__ = ["FormatDescriptor", "TableDescriptor"]


@dataclass(frozen=True)
class FormatDescriptor:
    """A format and its options; the options' names have no prefix."""

    format: str
    options: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def for_format(format: str) -> FormatDescriptor.Builder:
        """A builder of a format, such as ``json``."""
        return FormatDescriptor.Builder(format)

    def get_format(self) -> str:
        """The name of the format."""
        return self.format

    def get_options(self) -> dict[str, str]:
        """The options."""
        return dict(self.options)

    def __str__(self) -> str:
        options = ", ".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.format}[{{{options}}}]"

    def __hash__(self) -> int:
        return hash((self.format, frozenset(self.options.items())))

    class Builder:
        """Makes a :class:`FormatDescriptor`."""

        def __init__(self, format: str) -> None:
            self._format = _text("format", format)
            self._options: dict[str, str] = {}

        def option(self, key: str | ConfigOption[Any], value: Any) -> FormatDescriptor.Builder:
            """Set an option of the format."""
            _set(self._options, key, value)
            return self

        def build(self) -> FormatDescriptor:
            """The descriptor."""
            return FormatDescriptor(self._format, dict(self._options))


@dataclass(frozen=True)
class TableDescriptor:
    """A table: schema, options of its connector, partition keys, comment."""

    schema: Schema | None
    options: Mapping[str, str]
    partition_keys: tuple[str, ...] = ()
    comment: str | None = None

    @staticmethod
    def for_connector(connector: str) -> TableDescriptor.Builder:
        """A builder of a table behind that connector, such as ``kafka``."""
        return TableDescriptor.Builder(_text("connector", connector))

    @staticmethod
    def for_managed() -> TableDescriptor.Builder:
        """A builder of a table without a connector."""
        return TableDescriptor.Builder(None)

    def get_schema(self) -> Schema | None:
        """The schema, None if none was given."""
        return self.schema

    def get_options(self) -> dict[str, str]:
        """The options of the connector and of its formats."""
        return dict(self.options)

    def get_partition_keys(self) -> list[str]:
        """The columns that the table is partitioned by."""
        return list(self.partition_keys)

    def get_comment(self) -> str | None:
        """What the table is for."""
        return self.comment

    def to_catalog_table(self) -> CatalogTable:
        """The table as catalogs keep it."""
        schema = self.schema or Schema()
        return CatalogTable(schema, dict(self.options), self.comment, self.partition_keys)

    def __str__(self) -> str:
        schema = "" if self.schema is None else str(self.schema)
        comment = "" if self.comment is None else f"\nCOMMENT '{self.comment}'"
        keys = ", ".join(f"`{key}`" for key in self.partition_keys)
        partitioned = f"\nPARTITIONED BY ({keys})" if keys else ""
        options = ",\n  ".join(f"'{key}' = '{value}'" for key, value in self.options.items())
        return f"{schema}{comment}{partitioned}\nWITH (\n  {options}\n)"

    def __hash__(self) -> int:
        options = frozenset(self.options.items())
        return hash((self.schema, options, self.partition_keys, self.comment))

    class Builder:
        """Makes a :class:`TableDescriptor`."""

        def __init__(self, connector: str | None) -> None:
            self._schema: Schema | None = None
            self._options = {} if connector is None else {"connector": connector}
            self._partition_keys: tuple[str, ...] = ()
            self._comment: str | None = None

        def schema(self, schema: Schema) -> TableDescriptor.Builder:
            """The columns, time attributes and keys."""
            if not isinstance(schema, Schema):
                raise ProgramError(f"schema takes a Schema, got {schema!r}.")
            self._schema = schema
            return self

        def option(self, key: str | ConfigOption[Any], value: Any) -> TableDescriptor.Builder:
            """Set an option of the connector."""
            _set(self._options, key, value)
            return self

        def format(
            self,
            format: str | FormatDescriptor,
            format_option: ConfigOption[str] | None = None,
        ) -> TableDescriptor.Builder:
            """The format, and with it its options; ``format_option`` is the option that names it
            if that is not ``format``, such as ``key.format``."""
            key = "format" if format_option is None else format_option.key
            described = FormatDescriptor(format) if isinstance(format, str) else format
            if not isinstance(described, FormatDescriptor):
                raise ProgramError(f"format takes a name or a FormatDescriptor, got {format!r}.")
            self._options[key] = described.format
            prefix = key.removesuffix("format") + described.format
            for name, value in described.options.items():
                self._options[f"{prefix}.{name}"] = value
            return self

        def partitioned_by(self, *partition_keys: str) -> TableDescriptor.Builder:
            """The columns that the table is partitioned by."""
            self._partition_keys = partition_keys
            return self

        def comment(self, comment: str) -> TableDescriptor.Builder:
            """What the table is for."""
            self._comment = comment
            return self

        def build(self) -> TableDescriptor:
            """The descriptor."""
            return TableDescriptor(
                self._schema, dict(self._options), self._partition_keys, self._comment
            )


def _set(options: dict[str, str], key: str | ConfigOption[Any], value: Any) -> None:
    if isinstance(key, ConfigOption):
        options[key.key] = Configuration().set(key, value).to_dict()[key.key]
    else:
        options[_text("option", key)] = Configuration.from_dict({key: value}).to_dict()[key]


def _text(what: str, name: object) -> str:
    if not isinstance(name, str) or not name:
        raise ProgramError(f"The name of a {what} is a text, got {name!r}.")
    return name
