"""Connectors and formats by the names that ``WITH (...)`` has for them."""

from __future__ import annotations

from collections.abc import Mapping

from scurry.common.data_types import supports_explicit_cast
from scurry.common.errors import ConfigurationError
from scurry.table.catalog.errors import nearest
from scurry.table.catalog.resolved_schema import MetadataColumn
from scurry.table.factories.column_formats import COLUMN_FORMATS
from scurry.table.factories.contract import (
    ConnectorFactory,
    ScanSource,
    TableContext,
    TableSink,
    check_options,
)
from scurry.table.factories.files import FilesystemFactory
from scurry.table.factories.formats import FORMATS
from scurry.table.factories.jdbc import JdbcFactory
from scurry.table.factories.kafka import KafkaFactory, UpsertKafkaFactory
from scurry.table.factories.simple import BlackholeFactory, DatagenFactory, PrintFactory

__all__ = [
    "COLUMN_FORMATS",
    "CONNECTORS",
    "FORMATS",
    "ScanSource",
    "TableContext",
    "TableSink",
    "factory_of",
    "make_sink",
    "make_source",
]

CONNECTORS: Mapping[str, ConnectorFactory] = {
    factory.identifier: factory
    for factory in (
        KafkaFactory(),
        UpsertKafkaFactory(),
        FilesystemFactory(),
        JdbcFactory(),
        DatagenFactory(),
        PrintFactory(),
        BlackholeFactory(),
    )
}


def make_source(context: TableContext) -> ScanSource:
    """The table as a source, once its options and metadata columns have been checked."""
    factory = factory_of(context)
    _check_metadata(context, factory, writing=False)
    return factory.source(context)


def make_sink(context: TableContext) -> TableSink:
    """The table as a sink, once its options and metadata columns have been checked."""
    factory = factory_of(context)
    _check_metadata(context, factory, writing=True)
    return factory.sink(context)


def factory_of(context: TableContext) -> ConnectorFactory:
    """The factory that ``connector`` names; refuses options that nobody knows."""
    name = context.options.get("connector")
    if name is None:
        raise ConfigurationError(
            f"The table {context.name} has no option 'connector', so nobody knows where its rows "
            f"are. {nearest('', CONNECTORS)}"
        )
    factory = CONNECTORS.get(name)
    if factory is None:
        raise ConfigurationError(
            f"The table {context.name} has the connector {name!r}, which there is not. "
            + nearest(name, CONNECTORS)
        )
    prefixes = tuple(
        f"{option.removesuffix('format')}{context.options[option]}."
        for option in factory.format_options
        if option in context.options
    )
    own = {
        key: value
        for key, value in context.options.items()
        if key != "connector" and not key.startswith(prefixes or ("\0",))
    }
    check_options(context, factory.options, f"the connector {name!r}", own)
    return factory


def _check_metadata(context: TableContext, factory: ConnectorFactory, writing: bool) -> None:
    for column in context.metadata:
        if writing and not column.is_persisted():
            continue
        known = factory.writable if writing else factory.readable
        key = column.metadata_key or column.name
        if key not in known:
            verb = "written" if writing else "read"
            hint = " Declare it VIRTUAL if it is only read." if writing else ""
            raise context.refuse(
                f"the metadata column {column.name!r} is {key!r}, which a table of the connector "
                f"{factory.identifier!r} has not as metadata that can be {verb}.{hint} "
                + nearest(key, known)
            )
        _check_type(context, column, known[key])


def _check_type(context: TableContext, column: MetadataColumn, known: object) -> None:
    from scurry.common.data_types import DataType

    assert isinstance(known, DataType)
    if not supports_explicit_cast(known, column.data_type):
        raise context.refuse(
            f"the metadata column {column.name!r} is {column.data_type}, and the connector has it "
            f"as {known}, which cannot be cast to that."
        )
