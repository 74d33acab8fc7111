"""A session of the client: executes statements, shows what they give, and keeps going on errors.

Beside SQL it knows a few commands of its own: ``HELP``, ``QUIT`` or ``EXIT``, ``CLEAR``, and
``\\timing``, which says how long each statement took.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from scurry.common.errors import ScurryError
from scurry.common.job_status import JobStatus
from scurry.common.options import tables
from scurry.sql import ast
from scurry.sql.parser import parse_script
from scurry.table.environment_settings import EnvironmentSettings
from scurry.table.result_kind import ResultKind
from scurry.table.statements import execute
from scurry.table.table_environment import TableEnvironment
from scurry.table.table_result import TableResult

__all__ = ["ClientSession", "is_complete"]

HELP = """\
Statements end with a semicolon. What you can write:
  SQL             CREATE TABLE, SELECT, INSERT INTO, SHOW TABLES, DESCRIBE, EXPLAIN, SET, ...
  SHOW JOBS       the jobs that this session has started; STOP JOB 'id' ends one
  SET 'sql-client.execution.result-mode' = 'table'       the table as it changes
  SET 'sql-client.execution.result-mode' = 'changelog'   its changes, one after the other
  \\timing         say how long each statement took, or stop saying so
  CLEAR           empty the screen
  HELP, QUIT      this text; leave (EXIT and Ctrl-D do too)
Ctrl-C ends the query whose results are shown."""

#: Shows the result of a query; what it is depends on where results go.
Viewer = Callable[[TableResult], None]


class ClientSession:
    """Executes statements and writes to ``out``."""

    def __init__(self, out: TextIO, view: Viewer | None = None, batch: bool = False) -> None:
        settings = EnvironmentSettings.in_streaming_mode()
        if batch:
            settings = EnvironmentSettings.in_batch_mode()
        self.environment = TableEnvironment.create(settings)
        self._out = out
        self._view = view or self._print
        self.timing = False
        self.ended = False

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
            self._say(HELP)
        elif command == "clear":
            self._out.write("\x1b[2J\x1b[H")
        elif command == "\\timing":
            self.timing = not self.timing
            self._say(f"Timing is {'on' if self.timing else 'off'}.")
        elif command:
            self.run_script(text)

    def run_statement(self, statement: ast.Statement) -> bool:
        """Execute one statement and show its result; False if it failed."""
        began = time.monotonic()
        try:
            self._show(statement, execute(self.environment, statement))
        except ScurryError as failure:
            return self._failed(failure)
        except KeyboardInterrupt:
            self._say("Cancelled.")
            return False
        if self.timing:
            self._say(f"Time: {time.monotonic() - began:.3f} s")
        return True

    def _show(self, statement: ast.Statement, result: TableResult) -> None:
        job = result.get_job_client()
        if isinstance(statement, ast.QueryStatement):
            self._view(result)
        elif job is not None:
            self._say(f"Job started: {job.get_job_id()}")
        elif result.get_result_kind() is ResultKind.SUCCESS:
            self._say("[INFO] Execute statement succeeded.")
        else:
            self._print(result)

    def _print(self, result: TableResult) -> None:
        try:
            for line in result.lines():
                self._say(line)
        except KeyboardInterrupt:
            job = result.get_job_client()
            if job is not None:
                job.cancel().result()
            self._say("Cancelled.")

    def wait_for_jobs(self) -> bool:
        """Wait until the jobs of all INSERTs have ended; False if one failed."""
        well = True
        for started in self.environment.jobs.started:
            try:
                started.client.result()
            except ScurryError as failure:
                well = self._failed(failure)
            except KeyboardInterrupt:
                started.client.cancel().result()
        return well

    def running_jobs(self) -> list[str]:
        """The names of jobs that have not ended."""
        return [
            job.name
            for job in self.environment.jobs.started
            if job.client.get_job_status().result() is JobStatus.RUNNING
        ]

    def result_mode(self) -> str:
        """How results of queries are shown: TABLE, CHANGELOG or TABLEAU."""
        configuration = self.environment.get_config().get_configuration()
        return tables.RESULT_MODE.read(configuration)

    def _failed(self, failure: ScurryError) -> bool:
        self._say(f"[ERROR] {failure}")
        return False

    def _say(self, text: str) -> None:
        self._out.write(f"{text}\n")
        self._out.flush()


def is_complete(text: str) -> bool:
    """Whether what was typed so far can be executed: it ends with a semicolon, or is a command of
    the client's own."""
    stripped = text.strip()
    return not stripped or stripped.endswith(";") or stripped.lower() in _COMMANDS


_COMMANDS = ("quit", "exit", "help", "clear", "\\timing")
