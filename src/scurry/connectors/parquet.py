"""A source over Parquet files: :class:`FileSource` with less to write."""

from __future__ import annotations

from pathlib import Path

from scurry.common.errors import ProgramError
from scurry.common.types import Row
from scurry.connectors.files.listing import find_files, local_path
from scurry.connectors.files.parquet_format import ParquetColumnarRowInputFormat
from scurry.connectors.files.source import FileSource


class ParquetSource(FileSource):
    """The rows of Parquet files: as Rows, as tuples, or as instances of a dataclass.

    ``path`` is a file or a directory of files; ``columns`` selects and orders columns.
    """

    def __init__(
        self,
        path: str | Path,
        columns: list[str] | None = None,
        element: type = Row,
    ) -> None:
        root = local_path(path)
        if not Path(root).exists() or not find_files([root]):
            raise ProgramError(f"ParquetSource found no Parquet file at {str(path)!r}.")
        form = ParquetColumnarRowInputFormat(element)
        super().__init__(form.selecting(columns), (root,))
