"""Live results: what rows are shown, and which keys move them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from scurry.common.data_types import DataTypes
from scurry.common.errors import JobError
from scurry.common.types import Row, RowKind
from scurry.table.catalog.resolved_schema import ResolvedSchema
from scurry.table.client.live_rows import LiveChanges, LiveTable, cells_of, counted
from scurry.table.client.live_view import LiveView
from scurry.table.result_kind import ResultKind
from scurry.table.table_result import TableResult

NAMES, TYPES = ["w", "n"], [DataTypes.STRING(), DataTypes.INT()]
CHANGES = [
    (RowKind.INSERT, ("a", 1)),
    (RowKind.INSERT, ("b", None)),
    (RowKind.INSERT, ("c", 7)),
    (RowKind.UPDATE_BEFORE, ("a", 1)),
    (RowKind.UPDATE_AFTER, ("a", 2)),
    (RowKind.DELETE, ("c", 7)),
]


def test_a_row_that_is_updated_stays_where_it_is() -> None:
    table = LiveTable(NAMES, TYPES)
    for kind, row in CHANGES:
        table.apply(Row.of_kind(kind, *row))
    assert table.lines(0, 10) == ["w       n", "a       2", "b  <NULL>"]
    assert (len(table), table.changes) == (2, 6)


def test_a_row_without_its_new_version_goes() -> None:
    table = LiveTable(NAMES, TYPES)
    for kind, row in (*CHANGES[:2], CHANGES[3], (RowKind.INSERT, ("d", 4))):
        table.apply(Row.of_kind(kind, *row))
    assert table.lines(0, 10) == ["w       n", "b  <NULL>", "d       4"]


def test_the_oldest_rows_go_when_there_are_too_many() -> None:
    table = LiveTable(NAMES, TYPES, most=2)
    for number in range(4):
        table.apply(Row("x", number))
    table.apply(Row.of_kind(RowKind.DELETE, "x", 0))
    assert table.lines(0, 10) == ["w  n", "x  2", "x  3"]


def test_every_change_is_a_line() -> None:
    changes = LiveChanges(NAMES, TYPES)
    for kind, row in CHANGES[3:]:
        changes.apply(Row.of_kind(kind, *row))
    assert changes.lines(1, 10) == ["op  w  n", "+U  a  2", "-D  c  7"]


def test_values_keep_to_their_columns() -> None:
    table = LiveTable(NAMES, TYPES, widest=6)
    for word in ("日本語です", "x\ny\x1b", "e\u0301"):
        table.apply(Row(word, 1))
    assert table.lines(0, 10) == ["     w  n", " 日本…  1", "x\\ny\\…  1", "     e\u0301  1"]
    assert cells_of("日本語", 1, 4) == " 本 "


class Screen(DummyOutput):
    """A terminal of 60 columns and 8 lines: four of them hold rows."""

    def get_size(self) -> Size:
        return Size(rows=8, columns=60)


UP, DOWN, RIGHT, LEFT = (f"\x1b[{letter}" for letter in "ABCD")
HOME, END, PAGE_UP, PAGE_DOWN = (f"\x1b[{number}~" for number in (1, 4, 5, 6))
CTRL_C = "\x03"


def view_after(table: LiveTable, keys: str, changes: Iterable[Row] = ()) -> LiveView:
    """The view of ``table`` that somebody has left after pressing keys."""
    schema = ResolvedSchema.physical(table.names, TYPES)
    result = TableResult(ResultKind.SUCCESS_WITH_CONTENT, schema, changes)
    with create_pipe_input() as typed:
        typed.send_text(keys)
        view = LiveView("SELECT  *\nFROM t", table, typed, Screen())
        view.run(result)
    return view


def ten_rows(word: str = "x") -> LiveTable:
    table = LiveTable(NAMES, TYPES, widest=100)
    for number in range(10):
        table.apply(Row(word, number))
    return table


@pytest.mark.parametrize(
    ("keys", "rows"),
    [
        ("", "7-10"),
        (PAGE_UP, "3-6"),
        (PAGE_UP * 3, "1-4"),
        (HOME, "1-4"),
        (HOME + PAGE_DOWN + UP, "4-7"),
        (HOME + DOWN, "2-5"),
        (HOME + PAGE_DOWN * 3, "7-10"),
        (HOME + END, "7-10"),
    ],
)
def test_keys_move_through_the_rows(keys: str, rows: str) -> None:
    text = view_after(ten_rows(), f"{keys}q").text()
    assert f"rows {rows} of 10, 10 changes" in text
    first, last = map(int, rows.split("-"))
    assert [line[-1] for line in text.splitlines()[3:-1]] == [
        str(n - 1) for n in range(first, last + 1)
    ]


def test_one_thing_is_said_to_be_one() -> None:
    assert [counted(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]


def test_a_table_that_is_wider_than_the_screen() -> None:
    table = ten_rows("left" + "-" * 80 + "right")
    assert "right" not in view_after(table, "q").text()
    assert "right  9" in view_after(table, f"{RIGHT * 9}q").text()
    assert "left" in view_after(table, f"{RIGHT * 9}{LEFT * 9}q").text()


def test_ctrl_c_leaves() -> None:
    text = view_after(ten_rows(), CTRL_C).text()
    assert text.startswith("SELECT * FROM t\nw  n\n────\n")


def test_a_query_that_fails_leaves_by_itself() -> None:
    def failing() -> Iterator[Row]:
        yield Row("x", 1)
        raise JobError("no more")

    view = view_after(LiveTable(NAMES, TYPES), "", failing())
    assert str(view.failure) == "no more"
