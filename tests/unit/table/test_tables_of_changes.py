"""What changes amount to: the table behind ``to_pandas``."""

from __future__ import annotations

import math
from typing import Any

from scurry.common.types import Row, RowKind
from scurry.table.jobs import table_of

KINDS = {str(kind): kind for kind in RowKind}


def change(kind: str, *values: Any) -> Row:
    return Row.of_kind(KINDS[kind], *values)


def left(*changes: Row) -> list[Any]:
    return [tuple(row) for row in table_of(changes)]


def test_rows_stay_in_the_order_in_which_they_came() -> None:
    found = left(change("+I", 1), change("+I", 2), change("-U", 1), change("+U", 3))
    assert found == [(2,), (3,)]


def test_of_equal_rows_one_is_taken_back() -> None:
    assert left(change("+I", "a"), change("+I", "a"), change("-D", "a")) == [("a",)]


def test_fields_may_be_lists_maps_and_no_numbers() -> None:
    values = [1, 2], {"k": [3]}, math.nan
    assert left(change("+I", *values), change("+I", 1, None, 2.0), change("-D", *values)) == [
        (1, None, 2.0)
    ]


def test_what_is_taken_back_and_was_not_there_changes_nothing() -> None:
    assert left(change("-D", 1), change("+I", 1)) == [(1,)]
