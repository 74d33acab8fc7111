"""The SQL client, without a terminal."""

from __future__ import annotations

import io
import re
import threading
from concurrent.futures import Future
from typing import cast

import pytest
from prompt_toolkit.document import Document

from scurry.common.data_types import DataTypes
from scurry.common.errors import JobError
from scurry.common.job_client import JobClient, RunningJob
from scurry.table.client.colours import SqlColours
from scurry.table.client.completion import SqlCompleter
from scurry.table.client.session import ClientSession, is_complete
from scurry.table.client.statement_thread import StatementThread
from scurry.table.jobs import StartedJob


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
    assert "[ERROR] There is no table 'x'. There is: t (line 1, column 78)" in text


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
    assert is_complete("SELECT 1; -- so much for that")
    assert is_complete("quit")
    assert not is_complete("SELECT 'a;")
    assert not is_complete("SELECT 1 -- one;")
    assert not is_complete("SELECT 1 /* one;")
    assert is_complete('SELECT "one";')


def completions(session: ClientSession, text: str) -> list[str]:
    """What the text can become where it has a bar."""
    document = Document(text.replace("|", ""), text.index("|"))
    return [one.text for one in SqlCompleter(session.environment).get_completions(document, None)]


def test_completion_knows_tables_columns_and_functions(out: io.StringIO) -> None:
    session = ClientSession(out)
    columns = "order_id INT, `user` STRING"
    session.run_script(f"CREATE TABLE orders ({columns}) WITH ('connector' = 'datagen')")
    assert completions(session, "SELECT * FROM orde|")[0] == "orders"
    assert completions(session, "SELECT ord| FROM orders")[:2] == ["order_id", "orders"]
    assert completions(session, "SELECT orde|")[0] == "order_id"
    assert completions(session, "SELECT o.| FROM orders AS o") == ["order_id", "`user`"]
    assert completions(session, "SELECT x.| FROM orders AS o") == []
    assert "UPPER" in completions(session, "SELECT UPP|")
    assert "upper" in completions(session, "select upp|")
    assert "SELECT" in completions(session, "SEL|")
    assert completions(session, "SELECT 'or|") == []
    assert completions(session, "SELECT 1 -- or|") == []
    assert "table.local-time-zone" in completions(session, "SET 'table.loc|")


def test_colours() -> None:
    document = Document("SELECT UPPER('x'), 1 -- why\n/* a\nb */ FROM t")
    line = SqlColours().lex_document(document)
    pieces = {text: style for number in range(3) for style, text in line(number)}
    assert "ansiblue" in pieces["SELECT"]
    assert "ansiblue" in pieces["FROM"]
    assert pieces["'x'"] == "ansigreen"
    assert pieces["1"] == "ansicyan"
    assert pieces["-- why"] == pieces["/* a"] == pieces["b */"] == "ansibrightblack"


def test_times_of_jobs_are_times(out: io.StringIO) -> None:
    session = ClientSession(out)
    result = session.environment.execute_sql("SHOW JOBS")
    kinds = result.get_resolved_schema().get_column_data_types()
    assert kinds[-1] == DataTypes.TIMESTAMP_LTZ(3)


def test_a_fault_does_not_end_the_session(
    out: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = ClientSession(out)
    with monkeypatch.context() as broken:
        broken.setattr("scurry.table.client.session.execute", lambda *_: 1 / 0)
        assert not session.run_script("SHOW TABLES;")
    assert "ZeroDivisionError" in out.getvalue()
    assert session.run_script("SHOW TABLES;")


def test_ctrl_c_while_a_statement_starts_takes_it_back() -> None:
    thread = StatementThread()
    begun, go_on, undone = (threading.Event() for _ in range(3))

    def work() -> str:
        begun.set()
        go_on.wait(60)
        return "started"

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        thread.call(work, lambda result: undone.set(), interrupted)
    assert begun.is_set()
    assert not undone.is_set()
    go_on.set()
    assert undone.wait(60)
    assert thread.call(lambda: 2, lambda result: None, interrupted) == 2


class EndedJob:
    """A job that has failed."""

    job_id, ended, failure = "f0" * 16, True, JobError("no more rows")

    def wait(self, timeout: float | None = None) -> bool:
        raise self.failure


def test_failures_of_jobs_are_told_once(out: io.StringIO) -> None:
    session = ClientSession(out)
    client = JobClient(cast(RunningJob, EndedJob()))
    session.environment.jobs.started.append(StartedJob(client, "insert-into_t", 0))
    assert not session.run_script("DROP TABLE typo;")
    session.tell_of_failures()
    session.tell_of_failures()
    assert out.getvalue().count("[ERROR] Job insert-into_t has failed. no more rows") == 1
    assert session.wait_for_jobs()


class StoppedJob:
    """A job that can be stopped with a savepoint."""

    job_id, ended, failure = "f1" * 16, False, None

    def savepoint(self, directory: str | None, stop: bool, drain: bool) -> Future[str]:
        assert directory is None
        assert stop
        made: Future[str] = Future()
        made.set_result(f"/savepoints/{'drained' if drain else 'stopped'}")
        return made


@pytest.mark.parametrize(("clause", "path"), [("", "stopped"), (" WITH DRAIN", "drained")])
def test_a_job_is_stopped_with_a_savepoint(out: io.StringIO, clause: str, path: str) -> None:
    session = ClientSession(out)
    client = JobClient(cast(RunningJob, StoppedJob()))
    session.environment.jobs.started.append(StartedJob(client, "insert-into_t", 0))
    assert session.run_script(f"STOP JOB '{'f1' * 16}' WITH SAVEPOINT{clause};")
    assert re.search(rf"\| *savepoint path \|\n.*\n\| /savepoints/{path} \|", out.getvalue())
