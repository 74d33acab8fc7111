"""How the columns of a CSV file are called, typed and separated."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from scurry.common.collection_types import ListTypeInfo
from scurry.common.errors import NotSupportedError, ProgramError
from scurry.common.row_types import RowTypeInfo
from scurry.common.type_information import TypeInformation
from scurry.common.typeinfo import Types

_NUMBERS = (
    Types.BYTE(),
    Types.SHORT(),
    Types.INT(),
    Types.LONG(),
    Types.FLOAT(),
    Types.DOUBLE(),
)


@dataclass(frozen=True)
class CsvSchema:
    """The columns of a CSV file, and its signs. Made with :meth:`builder`."""

    names: tuple[str, ...] = ()
    types: tuple[TypeInformation, ...] = ()
    #: separators of array columns that have one of their own
    separators: dict[str, str] = field(default_factory=dict)
    column_separator: str = ","
    array_separator: str = ";"
    quote_char: str | None = '"'
    escape_char: str | None = None
    line_separator: str = "\n"
    null_value: str | None = None
    allow_comments: bool = False
    use_header: bool = False
    strict_headers: bool = False
    skip_first_data_row: bool = False

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        """Begin a schema without columns."""
        return CsvSchemaBuilder()

    def size(self) -> int:
        """The number of columns."""
        return len(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __str__(self) -> str:
        columns = ", ".join(f"{n}: {t!r}" for n, t in zip(self.names, self.types, strict=True))
        return f"CsvSchema({columns})"

    @property
    def row_type(self) -> RowTypeInfo:
        """The type of a record."""
        return RowTypeInfo(self.types, self.names)

    def separator_of(self, name: str) -> str:
        """What separates the elements of an array column."""
        return self.separators.get(name, self.array_separator)


class CsvSchemaBuilder:
    """Gathers columns and settings."""

    def __init__(self) -> None:
        self._schema = CsvSchema()

    def build(self) -> CsvSchema:
        """The finished schema."""
        schema = self._schema
        if not schema.names:
            raise ProgramError("A CsvSchema needs at least one column: add_string_column(...).")
        repeated = {name for name in schema.names if schema.names.count(name) > 1}
        if repeated:
            raise ProgramError(f"CsvSchema: the column name {min(repeated)!r} is used twice.")
        return schema

    def _column(self, name: str, kind: TypeInformation) -> CsvSchemaBuilder:
        return self._set(names=(*self._schema.names, name), types=(*self._schema.types, kind))

    def _set(self, **values: Any) -> CsvSchemaBuilder:
        self._schema = replace(self._schema, **values)
        return self

    def add_array_column(
        self, name: str, separator: str = ";", element_type: TypeInformation | None = None
    ) -> CsvSchemaBuilder:
        """A column of several values, texts unless said otherwise."""
        self._set(separators={**self._schema.separators, name: separator})
        return self._column(name, ListTypeInfo(element_type or Types.STRING()))

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        """A column of ``true`` and ``false``."""
        return self._column(name, Types.BOOLEAN())

    def add_number_column(
        self, name: str, number_type: TypeInformation | None = None
    ) -> CsvSchemaBuilder:
        """A column of numbers, whole ones of 64 bits unless said otherwise."""
        kind = number_type or Types.LONG()
        if kind not in _NUMBERS:
            raise ProgramError(
                f"add_number_column({name!r}): {kind!r} is no number. Use Types.LONG(), "
                "Types.DOUBLE() or another of their kind."
            )
        return self._column(name, kind)

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        """A column of texts."""
        return self._column(name, Types.STRING())

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """The columns of another schema."""
        self._set(separators={**self._schema.separators, **schema.separators})
        for name, kind in zip(schema.names, schema.types, strict=True):
            self._column(name, kind)
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        """Forget all columns."""
        return self._set(names=(), types=(), separators={})

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:
        """Pass over lines that begin with ``#``."""
        return self._set(allow_comments=allow)

    def set_any_property_name(self, name: str) -> CsvSchemaBuilder:
        """Columns beyond the known ones cannot be gathered."""
        raise NotSupportedError(
            f"set_any_property_name({name!r}): Scurry's CSV reader takes exactly the columns of "
            "the schema. Declare all columns."
        )

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        """Array columns hold one element."""
        return self._set(array_separator="", separators={})

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """The array column at ``index`` uses the common separator again."""
        name = self._schema.names[index]
        rest = {key: sign for key, sign in self._schema.separators.items() if key != name}
        return self._set(separators=rest)

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """What separates the elements of array columns."""
        return self._set(array_separator=separator)

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        """What separates columns."""
        return self._set(column_separator=_sign("set_column_separator", char))

    def disable_escape_char(self) -> CsvSchemaBuilder:
        """Nothing is escaped."""
        return self._set(escape_char=None)

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        """What makes the next sign an ordinary one."""
        return self._set(escape_char=_sign("set_escape_char", char))

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        """What is written behind each record; when reading, ``\\n`` and ``\\r\\n`` are known."""
        return self._set(line_separator=separator)

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """What stands for None."""
        return self._set(null_value=null_value)

    def disable_quote_char(self) -> CsvSchemaBuilder:
        """Nothing is quoted, so every line is a record and files can be split."""
        return self._set(quote_char=None)

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        """What encloses texts that hold separators."""
        return self._set(quote_char=_sign("set_quote_char", char))

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:
        """Pass over the first record, after the header if there is one."""
        return self._set(skip_first_data_row=skip)

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:
        """Check that the header names the columns of the schema, in order."""
        return self._set(strict_headers=strict)

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:
        """The first line names the columns."""
        return self._set(use_header=use)

    def size(self) -> int:
        """The number of columns so far."""
        return len(self._schema)

    def __len__(self) -> int:
        return len(self._schema)


def _sign(setter: str, char: str) -> str:
    if not isinstance(char, str) or len(char.encode()) != 1:
        raise ProgramError(f"{setter} takes one ASCII character, got {char!r}.")
    return char
