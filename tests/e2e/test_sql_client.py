"""``scurry sql`` at a terminal: one session, typed as a person would."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

CTRL_C, CTRL_D = "\x03", "\x04"
#: a terminal that nobody asks where its cursor is
_SURROUNDINGS = {"TERM": "xterm", "LANG": "C.UTF-8", "PROMPT_TOOLKIT_NO_CPR": "1"}


class Terminal:
    """A program at a terminal of 80 columns and 24 lines, and all that it has written there."""

    def __init__(self, home: Path, *command: str) -> None:
        self._own, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, **_SURROUNDINGS, "HOME": str(home)},
            preexec_fn=_own_terminal,
        )
        os.close(theirs)
        self._written = ""

    def type(self, text: str) -> None:
        os.write(self._own, text.encode())

    def wait_for(self, pattern: str, seconds: float = 240) -> None:
        """Read until something was written since the last call of this."""
        end = time.monotonic() + seconds
        while (found := re.search(pattern, self._written)) is None:
            assert time.monotonic() < end, f"{pattern!r} is not in {self._written!r}"
            if select.select([self._own], [], [], 1)[0]:
                self._written += os.read(self._own, 65536).decode(errors="replace")
        self._written = self._written[found.end() :]

    def close(self, seconds: float = 120) -> int:
        """Wait for the end of the program, reading what it still writes; its exit code."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, "the program has not ended"
            if select.select([self._own], [], [], 0.2)[0]:
                try:
                    os.read(self._own, 65536)
                except OSError:
                    break
        os.close(self._own)
        return self.process.wait(60)


def _own_terminal() -> None:
    os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a test run in the background ignores it
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.mark.timeout(900)
def test_a_session_at_a_terminal(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, sys.executable, "-m", "scurry.cli.main", "sql")
    terminal.wait_for("scurry>")
    terminal.type("SELECT 日本, oops FROM (VALUES (1)) AS t (日本);\r")
    terminal.wait_for(r"\n {15}\^\^\^\^\r")  # below oops: each of the two wide letters takes two
    terminal.type("CREATE TABLE t (id BIGINT)\r")
    terminal.wait_for(" {6}>")
    terminal.type("WITH ('connector' = 'datagen', 'rows-per-second' = '100');\r")
    terminal.wait_for("succeeded")
    terminal.type("SELECT DISTINCT 'arr' || 'ived' AS w FROM t;\r")
    terminal.wait_for("arrived")  # the table view, whose title has the word in two parts
    terminal.type(CTRL_C)
    terminal.wait_for(r"1 row after 1 change\.")
    terminal.type("SET 'sql-client.execution.result-mode' = 'tableau';\r")
    terminal.wait_for("succeeded")
    terminal.type("SELECT id, CAST(NULL AS INT) AS nothing FROM t;\r")
    terminal.wait_for(r"\| \+I \| +-?\d+ \| +<NULL> \|")
    terminal.type(CTRL_C)
    terminal.wait_for("Cancelled.")
    terminal.type("INSERT INTO nowhere SELECT id FROM t;\r")
    terminal.wait_for("There is no table")
    terminal.wait_for("scurry>")  # before that a terminal gives an end of input to nobody
    terminal.type(CTRL_D)
    assert terminal.close() == 0
    assert "+CREATE TABLE t (id BIGINT)" in (tmp_path / ".scurry_sql_history").read_text()
