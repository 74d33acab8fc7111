"""Connectors that need nothing: ``datagen``, ``print``, ``blackhole``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scurry.common.changelog import ChangelogMode
from scurry.common.configuration import Configuration
from scurry.common.data_types import (
    ArrayType,
    BinaryStringType,
    BinaryType,
    BooleanType,
    CharacterStringType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    FractionalType,
    IntegralType,
    IntType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
)
from scurry.common.errors import ConfigurationError
from scurry.common.options.option import Option
from scurry.connectors.tables import column_generators as generators
from scurry.connectors.tables.driver_rows import BlackholeRows, PrintRows
from scurry.connectors.tables.random_rows import RandomRows
from scurry.table.catalog.errors import nearest
from scurry.table.factories.contract import (
    ConnectorFactory,
    ScanSource,
    TableContext,
    TableOption,
    TableSink,
    optional,
    prefixed,
)

__all__ = ["BlackholeFactory", "DatagenFactory", "PrintFactory"]

SINK_PARALLELISM: Option[int] = Option(
    "sink.parallelism", "integer", -1, "The parallelism of the sink, that of the job if not set."
)
_RATE: Option[int] = Option(
    "rows-per-second", "integer", 10_000, "How many rows come each second.", least=1
)
_COUNT: Option[int | None] = Option(
    "number-of-rows", "integer", None, "How many rows there are; without it they never end."
)
_FIELDS: Option[str] = Option(
    "fields.",
    "string",
    "",
    "`fields.<column>.kind` is `random` or `sequence`; random columns have `min`, `max`, `length`, "
    "`max-past`, `null-rate`, `var-len`, sequences `start` and `end`.",
)
_FIELD_KEYS = ("kind", "min", "max", "max-past", "length", "start", "end", "null-rate", "var-len")


def parallelism_of(context: TableContext) -> int | None:
    """What ``sink.parallelism`` says."""
    found: int = context.read(SINK_PARALLELISM)
    return found if found > 0 else None


class DatagenFactory(ConnectorFactory):
    """Rows that are made up."""

    identifier = "datagen"
    doc = "Rows that are made up, for trying things out; the same rows when a batch is repeated."
    options = (
        TableOption(_RATE),
        TableOption(_COUNT),
        TableOption(Option("scan.parallelism", "integer", -1, "Taken, and without effect.")),
        TableOption(_FIELDS, is_prefix=True),
    )

    def source(self, context: TableContext) -> ScanSource:
        row_type = context.physical
        self._check_fields(context, row_type)
        made = [_Column(context, (field.name,)).generator(field.data_type) for field in row_type]
        source = RandomRows(row_type, made, context.read(_COUNT), context.read(_RATE))
        return ScanSource(source, row_type, ChangelogMode.INSERT_ONLY)

    def _check_fields(self, context: TableContext, row_type: RowType) -> None:
        for key in prefixed(context.options, "fields."):
            path, _, setting = key.rpartition(".")
            name = path.split(".")[0]
            if name not in row_type.field_names():
                raise context.refuse(
                    f"the option 'fields.{key}' is about a column {name!r}, which the table has "
                    f"not. {nearest(name, row_type.field_names())}"
                )
            if setting not in _FIELD_KEYS:
                raise context.refuse(
                    f"the option 'fields.{key}' sets {setting!r}, which there is not. "
                    + nearest(setting, _FIELD_KEYS)
                )


class _Column:
    """The settings of one column, or of a part of one."""

    def __init__(self, context: TableContext, path: Sequence[str]) -> None:
        self._context = context
        self._path = tuple(path)
        given = prefixed(context.options, "fields." + ".".join(path) + ".")
        self._settings = Configuration.from_dict(given)

    def _read(self, key: str, kind: Any, default: Any) -> Any:
        try:
            return Option(key, kind, default, "").read(self._settings)
        except ConfigurationError as failure:
            raise self._context.refuse(f"column {'.'.join(self._path)}: {failure}") from None

    def generator(self, data_type: DataType) -> generators.ColumnGenerator:
        """The generator that the settings ask for."""
        kind = self._read("kind", "string", "random")
        if kind == "sequence":
            return self._sequence(data_type)
        if kind != "random":
            raise self._context.refuse(
                f"column {'.'.join(self._path)}: the kind is 'random' or 'sequence', not {kind!r}."
            )
        made = self._random(data_type)
        rate = self._read("null-rate", "number", 0.0)
        return generators.Nullable(made, rate) if rate > 0 else made

    def _sequence(self, data_type: DataType) -> generators.ColumnGenerator:
        start, end = self._read("start", "integer", None), self._read("end", "integer", None)
        if start is None or end is None:
            raise self._context.refuse(
                f"column {'.'.join(self._path)}: a sequence needs 'start' and 'end'."
            )
        return generators.Sequences(data_type, start, end)

    def _random(self, data_type: DataType) -> generators.ColumnGenerator:
        if isinstance(data_type, BooleanType):
            return generators.Booleans()
        if isinstance(data_type, IntegralType):
            limit = 1 << (data_type.bits - 1)
            least = self._read("min", "integer", -limit)
            return generators.Integers(data_type, least, self._read("max", "integer", limit - 1))
        if isinstance(data_type, FractionalType):
            most = 3.4e38
            if isinstance(data_type, DecimalType):
                most = 10.0 ** (data_type.precision - data_type.scale)
            least = self._read("min", "number", -most)
            return generators.Fractional(data_type, least, self._read("max", "number", most))
        if isinstance(data_type, CharacterStringType | BinaryStringType):
            return self._texts(data_type)
        if isinstance(data_type, TimestampType | LocalZonedTimestampType | DateType):
            return generators.Moments(data_type, self._read("max-past", "duration", 0))
        if isinstance(data_type, TimeType):
            return generators.TimesOfDay(data_type)
        return self._nested(data_type)

    def _texts(
        self, data_type: CharacterStringType | BinaryStringType
    ) -> generators.ColumnGenerator:
        fixed = isinstance(data_type, CharType | BinaryType)
        default = data_type.length if fixed else min(100, data_type.length)
        length = self._read("length", "integer", default)
        return generators.Texts(data_type, length, self._read("var-len", "boolean", False))

    def _nested(self, data_type: DataType) -> generators.ColumnGenerator:
        length = self._read("length", "integer", 3)
        if isinstance(data_type, ArrayType):
            inner = self._inner("element", data_type.element_type)
            return generators.Lists(data_type, inner, length)
        if isinstance(data_type, MapType):
            key = self._inner("key", data_type.key_type)
            return generators.Maps(
                data_type, key, self._inner("value", data_type.value_type), length
            )
        if isinstance(data_type, MultisetType):
            key = self._inner("element", data_type.element_type)
            return generators.Maps(data_type, key, generators.Integers(IntType(), 1, 3), length)
        if isinstance(data_type, RowType):
            fields = [self._inner(field.name, field.data_type) for field in data_type]
            return generators.Rows(data_type, fields)
        raise self._context.refuse(
            f"column {'.'.join(self._path)}: datagen cannot make values of type {data_type}."
        )

    def _inner(self, name: str, data_type: DataType) -> generators.ColumnGenerator:
        return _Column(self._context, (*self._path, name)).generator(data_type)


class PrintFactory(ConnectorFactory):
    """Rows to standard output."""

    identifier = "print"
    doc = "Writes each row, with its kind, to standard output."
    IDENTIFIER: Option[str] = Option(
        "print-identifier", "string", "", "A text in front of each row."
    )
    ERROR: Option[bool] = Option(
        "standard-error", "boolean", False, "Whether rows go to standard error."
    )
    options = optional(IDENTIFIER, ERROR, SINK_PARALLELISM)

    def sink(self, context: TableContext) -> TableSink:
        row_type = context.schema.to_sink_row_data_type()
        name, error = context.read(self.IDENTIFIER), context.read(self.ERROR)
        sink = PrintRows(row_type, name, error)
        parallelism = parallelism_of(context)
        return TableSink(sink, row_type, ChangelogMode.RETRACT, parallelism=parallelism)


class BlackholeFactory(ConnectorFactory):
    """Rows to nowhere."""

    identifier = "blackhole"
    doc = "Takes every row and keeps none, for measuring."
    options = ()

    def sink(self, context: TableContext) -> TableSink:
        row_type = context.schema.to_sink_row_data_type()
        return TableSink(BlackholeRows(), row_type, ChangelogMode.RETRACT)
