"""Factories: from the options of a table to a source or a sink.

A factory is known by an identifier, the value of ``'connector'`` or ``'format'``. It declares every
option that it knows in one table, from which both the check of a table's options and the reference
page are made. Options that no factory knows are refused, with the nearest name that there is.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from scurry.common.changelog import ChangelogMode
from scurry.common.configuration import Configuration
from scurry.common.data_types import DataType, RowType
from scurry.common.errors import ConfigurationError
from scurry.common.options.option import Option
from scurry.functions.sink import Sink
from scurry.functions.source import Source
from scurry.table.catalog.errors import nearest
from scurry.table.catalog.names import ObjectIdentifier
from scurry.table.catalog.resolved_schema import MetadataColumn, ResolvedSchema

__all__ = [
    "ConnectorFactory",
    "ScanSource",
    "TableContext",
    "TableOption",
    "TableSink",
    "optional",
    "prefixed",
]


@dataclass(frozen=True)
class TableOption:
    """One option: what it is, whether a table needs it, and whether its key is the beginning of
    many (``properties.*``)."""

    option: Option[Any]
    required: bool = False
    is_prefix: bool = False

    @property
    def key(self) -> str:
        """The option's name."""
        return self.option.key


@dataclass(frozen=True)
class TableContext:
    """A table as its factory sees it."""

    identifier: ObjectIdentifier
    schema: ResolvedSchema
    options: Mapping[str, str]
    partition_keys: tuple[str, ...] = ()
    configuration: Configuration = field(default_factory=Configuration)
    #: the whole schema, where ``schema`` has just the columns that a query reads
    declared: ResolvedSchema | None = None

    @property
    def name(self) -> str:
        """The table's name, for messages."""
        return self.identifier.as_summary_string()

    @property
    def physical(self) -> RowType:
        """The physical columns."""
        return self.schema.to_physical_row_data_type()

    @property
    def metadata(self) -> list[MetadataColumn]:
        """The metadata columns."""
        return [one for one in self.schema.columns if isinstance(one, MetadataColumn)]

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The columns of the primary key, none if there is no key."""
        return () if self.schema.primary_key is None else self.schema.primary_key.columns

    def read(self, option: Option[Any]) -> Any:
        """The value of an option."""
        try:
            return option.read(Configuration.from_dict(self.options))
        except ConfigurationError as failure:
            raise ConfigurationError(f"The table {self.name}: {failure}") from None

    def has(self, option: Option[Any]) -> bool:
        """Whether the table sets an option."""
        return any(key in self.options for key in option.keys)

    def refuse(self, what: str) -> ConfigurationError:
        """The error for options that contradict each other, or the schema."""
        return ConfigurationError(f"The table {self.name} cannot be used: {what}")


@dataclass(frozen=True)
class ScanSource:
    """A table that can be read: the source gives the physical columns, in order, then the metadata
    columns, in order, each of the type that the connector has for it."""

    source: Source
    #: the types of the source's columns
    row_type: RowType
    changelog: ChangelogMode

    @property
    def bounded(self) -> bool:
        """Whether the table has an end."""
        return self.source.bounded


@dataclass(frozen=True)
class TableSink:
    """A table that can be written: the sink takes the persisted columns of the schema, in order,
    and of changes those kinds that its mode has."""

    sink: Sink
    row_type: RowType
    changelog: ChangelogMode
    #: the columns that tell rows apart where the mode is UPSERT
    key: tuple[str, ...] = ()
    parallelism: int | None = None


class ConnectorFactory(ABC):
    """Makes sources and sinks of one connector."""

    #: the value of the option ``connector``
    identifier: str
    #: one sentence for the reference page
    doc: str
    options: Sequence[TableOption] = ()
    #: the metadata columns that can be read, and those that can be written
    readable: Mapping[str, DataType] = {}
    writable: Mapping[str, DataType] = {}
    #: the options that name formats, such as ``format`` and ``key.format``
    format_options: Sequence[str] = ()

    def projects(self, context: TableContext) -> bool:
        """Whether a source that is made for fewer columns gives the same rows of these."""
        return False

    def source(self, context: TableContext) -> ScanSource:
        """The table as a source."""
        raise context.refuse(
            f"a table of the connector {self.identifier!r} can be written and not be read."
        )

    def sink(self, context: TableContext) -> TableSink:
        """The table as a sink."""
        raise context.refuse(
            f"a table of the connector {self.identifier!r} can be read and not be written."
        )

    def __repr__(self) -> str:
        return self.identifier


def optional(*options: Option[Any]) -> tuple[TableOption, ...]:
    """Options that a table may set."""
    return tuple(TableOption(option) for option in options)


def taken(*keys: str) -> tuple[Option[str], ...]:
    """Options of Flink's that a table may set, and that have no effect here."""
    return tuple(
        Option(key, "string", "", "Taken, and without effect.", effective=False) for key in keys
    )


def prefixed(options: Mapping[str, str], prefix: str) -> dict[str, str]:
    """The options behind a prefix, without it."""
    return {
        key.removeprefix(prefix): value for key, value in options.items() if key.startswith(prefix)
    }


def check_options(
    context: TableContext, known: Sequence[TableOption], what: str, given: Mapping[str, str]
) -> None:
    """Refuse options that nobody knows, and the lack of those that are required."""
    exact = {key: one for one in known if not one.is_prefix for key in one.option.keys}
    prefixes = tuple(one.key for one in known if one.is_prefix)
    for key in given:
        if key not in exact and not key.startswith(prefixes or ("\0",)):
            raise ConfigurationError(
                f"The table {context.name} has the option {key!r}, which {what} does not know. "
                + nearest(key, [*exact, *(f"{prefix}*" for prefix in prefixes)])
            )
    for one in known:
        if one.required and not any(key in given for key in one.option.keys):
            raise ConfigurationError(
                f"The table {context.name} lacks the option {one.key!r}, which {what} needs: "
                f"{one.option.doc}"
            )
    for one in known:
        if not one.is_prefix and any(key in given for key in one.option.keys):
            context.read(one.option)
