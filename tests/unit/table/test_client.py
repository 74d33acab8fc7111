"""The SQL client, without a terminal."""

from __future__ import annotations

import io

import pytest

from scurry.common.data_types import DataTypes
from scurry.common.types import Row, RowKind
from scurry.table.client.live import LiveTable
from scurry.table.client.prompt import SqlCompleter, coloured
from scurry.table.client.session import ClientSession, is_complete


@pytest.fixture
def out() -> io.StringIO:
    """What the client writes."""
    return io.StringIO()


def test_scripts_stop_at_the_first_error(out: io.StringIO) -> None:
    session = ClientSession(out)
    script = "CREATE TABLE t (a INT) WITH ('connector' = 'print'); SHOW TABLES; DROP TABLE x; SHOW"
    assert not session.run_script(f"{script} TABLES;")
    text = out.getvalue()
    assert text.startswith("[INFO] Execute statement succeeded.\n")
    assert text.count("table name") == 1
    assert "[ERROR] There is no table 'x'. There is: t." in text


def test_commands_of_the_client(out: io.StringIO) -> None:
    session = ClientSession(out)
    session.run_input("HELP;")
    session.run_input("\\timing")
    session.run_input("SHOW CATALOGS;")
    session.run_input("selec 1;")
    assert "Time: " in out.getvalue()
    assert "Ctrl-C ends the query" in out.getvalue()
    assert "[ERROR] Expected a statement" in out.getvalue()
    assert not session.ended
    session.run_input("QUIT;")
    assert session.ended
    assert session.wait_for_jobs()
    assert session.running_jobs() == []


def test_input_goes_on_until_the_semicolon() -> None:
    assert not is_complete("SELECT 1")
    assert is_complete("SELECT 1;")
    assert is_complete("quit")


def test_completion_knows_tables_columns_and_functions(out: io.StringIO) -> None:
    session = ClientSession(out)
    session.run_script("CREATE TABLE orders (order_id INT) WITH ('connector' = 'datagen')")
    completer = SqlCompleter(session.environment)
    assert completer.candidates("SELECT or", "or")[0] == "orders"
    assert completer.candidates("SELECT ord FROM orders", "ord")[0] == "order_id"
    assert "UPPER" in completer.candidates("SELECT upp", "upp")
    assert "SELECT" in completer.candidates("SEL", "SEL")


def test_colours() -> None:
    pieces = {text: style for style, text in coloured("SELECT UPPER('x'), 1 -- why")}
    assert "ansiblue" in pieces["SELECT"]
    assert pieces["'x'"] == "ansigreen"
    assert pieces["1"] == "ansicyan"
    assert pieces["-- why"] == "ansibrightblack"


def test_a_live_table_is_what_its_changes_amount_to() -> None:
    table = LiveTable(["w", "n"], [DataTypes.STRING(), DataTypes.INT()])
    for kind, row in (
        (RowKind.INSERT, ("a", 1)),
        (RowKind.INSERT, ("b", None)),
        (RowKind.UPDATE_BEFORE, ("a", 1)),
        (RowKind.UPDATE_AFTER, ("a", 2)),
        (RowKind.DELETE, ("b", None)),
    ):
        table.apply(Row.of_kind(kind, *row))
    assert len(table) == 1
    assert table.lines(0, 10) == ["w  n", "a  2"]
    assert table.changes == 5
