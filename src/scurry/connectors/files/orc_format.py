"""ORC, read straight into Arrow columns. The unit of reading is the stripe."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import pyarrow as pa

from scurry.connectors.files.formats import BulkFormat, MalformedFileError, cannot_read
from scurry.functions.source import SourceBatch

__all__ = ["OrcColumns"]

_MAGIC = b"ORC"


class OrcColumns(BulkFormat):
    """The columns of ``schema``, of the types that it has for them."""

    columnar = True

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def extent(self, path: str, complete: bool) -> int | None:
        try:
            if _is_whole(path):
                return int(_open(path).nstripes)
        except (OSError, pa.ArrowException) as failure:
            raise _not_opened(path, failure) from failure
        if complete:
            raise MalformedFileError(
                f"{path!r} is not a complete ORC file: its end is missing. Remove it, or write it "
                "again."
            )
        return None

    def splits(self, path: str, extent: int, size: int) -> list[int]:
        return list(range(extent + 1))

    def cut(self, path: str, start: int, end: int, records: int, complete: bool) -> tuple[int, int]:
        file = _open(path)
        # how many rows a stripe has is not told without reading it
        usual = max(1, file.nrows // max(1, file.nstripes))
        place = min(end, start + max(1, records // usual))
        return place, (place - start) * usual

    def read(self, path: str, start: int, end: int) -> Iterator[SourceBatch]:
        try:
            file = _open(path)
        except (OSError, pa.ArrowException) as failure:
            raise _not_opened(path, failure) from failure
        names = self._schema.names
        there = file.schema.names
        missing = [name for name in names if name not in there]
        if missing:
            raise MalformedFileError(
                f"{path!r} has no column {missing[0]!r}: it has {there}. Declare columns that all "
                "files of the table have, or write the file again."
            )
        for stripe in range(start, end):
            # without columns to choose, Arrow reads all
            batch = file.read_stripe(stripe, names or None)
            arrays = [
                batch.column(field.name).cast(field.type, safe=False) for field in self._schema
            ]
            if not arrays:
                arrays = [pa.nulls(batch.num_rows)]
                yield SourceBatch(columns=pa.RecordBatch.from_arrays(arrays, [""]))
                continue
            yield SourceBatch(columns=pa.RecordBatch.from_arrays(arrays, schema=self._schema))


def _is_whole(path: str) -> bool:
    """Whether the end of a file is there, which names the format."""
    with open(path, "rb") as file:
        end = file.seek(0, 2)
        if end < 8:
            return False
        file.seek(max(0, end - 16))
        return _MAGIC in file.read()


def _not_opened(path: str, failure: Exception) -> Exception:
    if isinstance(failure, OSError) and failure.errno is not None:
        return cannot_read(path, failure)
    return MalformedFileError(
        f"{path!r} is a damaged ORC file: {str(failure).strip().rstrip('.')}. Remove it, or "
        "write it again, and restart the job."
    )


def _open(path: str) -> Any:
    state = os.stat(path)
    return _open_version(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=16)
def _open_version(path: str, changed: int, size: int) -> Any:
    from pyarrow import orc

    return orc.ORCFile(path)
