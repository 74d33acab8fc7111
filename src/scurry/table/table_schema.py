"""The older form of a schema: names and types of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scurry.common.data_types import DataType, RowType
from scurry.common.errors import ProgramError

__all__ = ["TableSchema"]


class TableSchema:
    """Names and types of columns; new programs use :class:`Schema` and :class:`ResolvedSchema`."""

    def __init__(
        self,
        field_names: Sequence[str] | None = None,
        data_types: Sequence[DataType] | None = None,
        notes: Mapping[str | None, Sequence[str]] | None = None,
    ) -> None:
        #: what is shown behind the columns of these names and, for None, below all columns
        self._notes = notes or {}
        self._names = list(field_names or ())
        self._types = list(data_types or ())
        if len(self._names) != len(self._types):
            raise ProgramError(
                f"A TableSchema has a type for each name, got {len(self._names)} names and "
                f"{len(self._types)} types."
            )

    def copy(self) -> TableSchema:
        """The same names and types."""
        return TableSchema(self._names, self._types)

    def get_field_names(self) -> list[str]:
        """The names of the columns."""
        return list(self._names)

    def get_field_data_types(self) -> list[DataType]:
        """The types of the columns."""
        return list(self._types)

    def get_field_count(self) -> int:
        """How many columns there are."""
        return len(self._names)

    def get_field_data_type(self, field: int | str) -> DataType | None:
        """The type of a column, by position or name."""
        place = self._names.index(field) if field in self._names else field
        within = isinstance(place, int) and 0 <= place < len(self._types)
        return self._types[place] if within and isinstance(place, int) else None

    def get_field_name(self, field_index: int) -> str | None:
        """The name of a column by position."""
        return self._names[field_index] if 0 <= field_index < len(self._names) else None

    def to_row_data_type(self) -> RowType:
        """The columns as a row."""
        return RowType.of(self._names, self._types)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TableSchema)
            and self._names == other._names
            and self._types == other._types
        )

    def __hash__(self) -> int:
        return hash((*self._names, *self._types))

    def __repr__(self) -> str:
        lines = [
            " ".join((f" |-- {name}: {kind}", *self._notes.get(name, ())))
            for name, kind in zip(self._names, self._types, strict=True)
        ]
        lines += [f" |-- {note}" for note in self._notes.get(None, ())]
        return "root\n" + "".join(f"{line}\n" for line in lines)

    @classmethod
    def builder(cls) -> TableSchema.Builder:
        """A builder of a schema without columns."""
        return TableSchema.Builder()

    class Builder:
        """Makes a :class:`TableSchema`."""

        def __init__(self) -> None:
            self._names: list[str] = []
            self._types: list[DataType] = []

        def field(self, name: str, data_type: DataType) -> TableSchema.Builder:
            """Add a column."""
            if not isinstance(name, str) or not isinstance(data_type, DataType):
                raise ProgramError(f"field takes a name and a type, got {name!r}, {data_type!r}.")
            self._names.append(name)
            self._types.append(data_type)
            return self

        def build(self) -> TableSchema:
            """The schema."""
            return TableSchema(self._names, self._types)
