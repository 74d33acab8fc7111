"""The fields of one record of CSV, as texts."""

from __future__ import annotations

import csv
import io
from typing import Any

__all__ = ["csv_fields"]

# a field may be as large as a record; the limit is one for the whole process
csv.field_size_limit((1 << 31) - 1)


def csv_fields(
    text: str, delimiter: str, quote: str | None, escape: str | None, what: str = "line"
) -> list[Any]:
    """The fields of ``text``. Raises ``ValueError`` if there are none, or if a quoted field has no
    end; ``what`` says what the text is."""
    lines = io.StringIO(text).readlines()
    # a field without an end goes on in the line that is added
    records = csv.reader(
        [*lines, ""],
        delimiter=delimiter,
        quotechar=quote,
        quoting=csv.QUOTE_NONE if quote is None else csv.QUOTE_MINIMAL,
        escapechar=escape,
    )
    found = next(records, [])
    if not found:
        raise ValueError(f"the {what} is empty")
    if records.line_num > len(lines):
        raise ValueError(f"a field begins with {quote} and has no end")
    return list(found)
