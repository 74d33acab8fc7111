"""A session of the client: executes statements, shows what they give, and keeps going on errors.

Beside SQL it knows a few commands of its own: ``HELP``, ``QUIT`` or ``EXIT``, ``CLEAR``, and
``\\timing``, which says how long each statement took.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from typing import TextIO

from scurry.common.errors import ScurryError
from scurry.common.job_status import JobStatus
from scurry.common.options import tables
from scurry.common.spans import SourceText
from scurry.sql import ast
from scurry.sql.errors import SqlParserError
from scurry.sql.lexer import tokenize
from scurry.sql.parser import parse_script
from scurry.table.client.statement_thread import StatementThread
from scurry.table.environment_settings import EnvironmentSettings
from scurry.table.jobs import StartedJob
from scurry.table.result_kind import ResultKind
from scurry.table.statements import execute
from scurry.table.table_environment import TableEnvironment
from scurry.table.table_result import TableResult

__all__ = ["ClientSession", "cancel", "is_complete"]

HELP = """\
Statements end with a semicolon. What you can write:
  SQL         CREATE TABLE, SELECT, INSERT INTO, SHOW TABLES, DESCRIBE, EXPLAIN,
              SET, ...
  SHOW JOBS   the jobs that this session has started; STOP JOB 'id' ends one
  \\timing     say how long each statement took, or stop saying so
  CLEAR       empty the screen
  HELP, QUIT  this text; leave (EXIT and Ctrl-D do too)
How results of queries are shown:
  SET 'sql-client.execution.result-mode' = 'table';      the table as it changes
  SET 'sql-client.execution.result-mode' = 'changelog';  its changes
  SET 'sql-client.execution.result-mode' = 'tableau';    line by line, as printed
Ctrl-C ends the query whose results are shown."""

#: Shows the result of a query of a session; the query's text comes with it.
Viewer = Callable[["ClientSession", TableResult, str], None]


class ClientSession:
    """Executes statements and writes to ``out``. ``view`` shows results of queries; a session
    without one prints them. ``patient`` has the session say so when Spark has to be started."""

    def __init__(
        self,
        out: TextIO,
        view: Viewer | None = None,
        batch: bool = False,
        patient: bool = False,
    ) -> None:
        settings = EnvironmentSettings.in_streaming_mode()
        if batch:
            settings = EnvironmentSettings.in_batch_mode()
        self.environment = TableEnvironment.create(settings)
        self._out = out
        self._view = view
        self._patient = patient
        self._thread = StatementThread()
        self._told: set[str] = set()
        self.timing = False
        self.ended = False
        self.interrupted = False

    def run_script(self, text: str, name: str = "") -> bool:
        """Execute all statements of a text; stops at the first that fails, and says so."""
        try:
            statements = parse_script(text, name)
        except ScurryError as failure:
            return self._failed(failure)
        return all(self.run_statement(statement) for statement in statements)

    def run_input(self, text: str) -> None:
        """Execute what was typed: commands of the client, or statements."""
        command = text.strip().rstrip(";").strip().lower()
        if command in ("quit", "exit"):
            self.ended = True
        elif command == "help":
            self.say(HELP)
        elif command == "clear":
            self._out.write("\x1b[2J\x1b[H")
        elif command == "\\timing":
            self.timing = not self.timing
            self.say(f"Timing is {'on' if self.timing else 'off'}.")
        elif command:
            self.run_script(text)

    def run_statement(self, statement: ast.Statement) -> bool:
        """Execute one statement and show its result; False if it failed or was cancelled."""
        began = time.monotonic()
        try:
            result = self._thread.call(
                lambda: execute(self.environment, statement), _withdraw, self._be_patient
            )
            self._show(statement, result)
        except ScurryError as failure:
            return self._failed(failure)
        except KeyboardInterrupt:
            self.interrupted = True
            self.say("Cancelled.")
            return False
        except Exception:
            # a fault of Scurry's own must not end the session, with all its tables
            self.say(f"[ERROR] This is a fault of Scurry.\n{traceback.format_exc().rstrip()}")
            return False
        if self.timing:
            self.say(f"Time: {time.monotonic() - began:.3f} s")
        return True

    def _be_patient(self) -> None:
        if self._patient and not self.environment.jobs.started:
            self.say("Starting Spark, which takes some seconds. Ctrl-C cancels.")

    def _show(self, statement: ast.Statement, result: TableResult) -> None:
        job = result.get_job_client()
        if isinstance(statement, ast.QueryStatement):
            self._show_rows(statement, result)
        elif job is not None:
            self.say(f"Job started: {job.get_job_id()}")
        elif result.get_result_kind() is ResultKind.SUCCESS:
            self.say("[INFO] Execute statement succeeded.")
        else:
            self.print_result(result)

    def _show_rows(self, statement: ast.QueryStatement, result: TableResult) -> None:
        job = result.get_job_client()
        if job is not None:
            # how the query ends is told here, and not again later
            self._told.add(str(job.get_job_id()))
        if self._view is None:
            self.print_result(result)
        else:
            self._view(self, result, statement.span.text)

    def print_result(self, result: TableResult) -> None:
        """Print a result line by line as it comes; Ctrl-C ends the query."""
        try:
            for line in result.lines():
                self.say(line)
        except KeyboardInterrupt:
            cancel(result)
            raise

    # --- jobs

    def wait_for_jobs(self) -> bool:
        """Wait until the jobs of all INSERTs have ended; False if one failed. Ctrl-C ends them."""
        well = True
        for started in self._untold_jobs():
            try:
                started.client.result()
            except ScurryError as failure:
                well = self._failed(failure)
            except KeyboardInterrupt:
                self.interrupted = True
                self.stop_jobs()
        return well

    def running_jobs(self) -> list[StartedJob]:
        """The jobs that have not ended."""
        return [job for job in self.environment.jobs.started if _status(job) is JobStatus.RUNNING]

    def stop_jobs(self) -> None:
        """End the jobs that still run, which have no other process to run in."""
        running = self.running_jobs()
        if running:
            names = ", ".join(job.name for job in running)
            self.say(f"Jobs run in this process, and end with it: stopping {names}.")
        ends = [job.client.cancel() for job in running]
        for end in ends:
            end.result()

    def tell_of_failures(self) -> None:
        """Name the jobs that have failed since this was called last."""
        for job in self._untold_jobs():
            if _status(job) is not JobStatus.RUNNING:
                self._told.add(str(job.client.get_job_id()))
                try:
                    job.client.result()
                except ScurryError as failure:
                    self.say(f"[ERROR] Job {job.name} has failed. {failure}")

    # --- saying

    def result_mode(self) -> str:
        """How results of queries are shown: TABLE, CHANGELOG or TABLEAU."""
        configuration = self.environment.get_config().get_configuration()
        return tables.RESULT_MODE.read(configuration)

    def _failed(self, failure: ScurryError) -> bool:
        self.say(f"[ERROR] {failure}")
        return False

    def _untold_jobs(self) -> list[StartedJob]:
        """The jobs whose end was not told yet."""
        started = self.environment.jobs.started
        return [job for job in started if str(job.client.get_job_id()) not in self._told]

    def say(self, text: str) -> None:
        """Write a line."""
        self._out.write(f"{text}\n")
        self._out.flush()


def _status(job: StartedJob) -> JobStatus:
    return job.client.get_job_status().result()


def cancel(result: TableResult) -> None:
    """End the job behind a result, if there is one."""
    job = result.get_job_client()
    if job is not None:
        job.cancel().result()


def _withdraw(result: TableResult) -> None:
    """Have a job end that nobody waits for any more."""
    job = result.get_job_client()
    if job is not None:
        job.cancel()


def is_complete(text: str) -> bool:
    """Whether what was typed so far can be executed: its last token is a semicolon, or it is a
    command of the client's own."""
    stripped = text.strip()
    if not stripped or stripped.lower() in _COMMANDS:
        return True
    try:
        tokens = tokenize(SourceText(text))
    except SqlParserError as failure:
        # a string or comment that has no end goes on in the next line; another mistake is told now
        return not failure.advice.startswith("Close ") and stripped.endswith(";")
    return len(tokens) > 1 and tokens[-2].text == ";"


_COMMANDS = ("quit", "exit", "help", "clear", "\\timing")
