"""What workers log reaches the program's own loggers, at its levels."""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from scurry.engine import worker_logs
from scurry.engine.worker_logs import LogReader, LogSettings, RecordWriter

#: A worker: follows the settings it is given, then executes a program.
WORKER = """
import logging, pickle, sys
pickle.loads(bytes.fromhex(sys.argv[1])).apply()
log = logging.getLogger("shop.orders")
exec(sys.argv[2])
"""


def in_worker(settings: LogSettings, program: str) -> None:
    content = pickle.dumps(settings).hex()
    done = subprocess.run(
        [sys.executable, "-c", WORKER, content, program], capture_output=True, text=True, check=True
    )
    assert done.stderr == "", "nothing is told twice"


def test_records_arrive_as_they_were_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    program = """
log.info("%d orders", 3, extra={"batch": 7, "who": object})
log.debug("never told")
try:
    1 / 0
except ZeroDivisionError:
    log.exception("broken")
"""
    with LogReader(tmp_path / "logs"):
        in_worker(LogSettings.of_this_program(tmp_path / "logs"), program)
    first, second = (record for record in caplog.records if record.name == "shop.orders")
    assert (first.getMessage(), first.levelname) == ("3 orders", "INFO")
    assert (first.lineno, first.funcName, first.process != os.getpid()) == (2, "<module>", True)
    assert vars(first)["batch"] == 7
    assert "object" in vars(first)["who"]
    assert "ZeroDivisionError: division by zero" in str(second.exc_text)
    told = logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s").format(second)
    assert "ERROR shop.orders: broken\n" in told
    assert told.endswith("ZeroDivisionError: division by zero")
    assert not (tmp_path / "logs").exists()


def test_levels_are_those_of_the_main_program(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert logging.root.level == logging.WARNING
    quiet, loud = logging.getLogger("shop.stock"), logging.getLogger("shop.orders")
    quiet.disabled = True
    loud.setLevel(logging.DEBUG)
    try:
        settings = LogSettings.of_this_program(tmp_path / "logs")
    finally:
        quiet.disabled = False
        loud.setLevel(logging.NOTSET)
    program = """
log.debug("details")
logging.getLogger("shop").info("not asked for")
logging.getLogger("shop.stock").error("turned off")
logging.getLogger("shop").warning("asked for")
"""
    with LogReader(tmp_path / "logs"):
        in_worker(settings, program)
    told = [record.getMessage() for record in caplog.records if record.name.startswith("shop")]
    assert told == ["details", "asked for"]


def test_what_a_worker_logs_before_it_dies_is_not_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    program = "log.info('last words'); import os; os._exit(0)"
    with LogReader(tmp_path / "logs"):
        in_worker(LogSettings.of_this_program(tmp_path / "logs"), program)
    assert [r.getMessage() for r in caplog.records if r.name == "shop.orders"] == ["last words"]


def test_many_records_keep_their_order_over_several_files(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_logs, "_FILE_BYTES", 1000)
    reader = LogReader(tmp_path)
    writer = RecordWriter(tmp_path)
    told = logging.getLogger("told")
    for number in range(100):
        writer.handle(told.makeRecord("told", logging.ERROR, "f", 1, "%s", (number,), None))
        if number % 17 == 0:
            reader.read()
    writer.close()
    reader.read()
    assert [r.getMessage() for r in caplog.records] == [str(number) for number in range(100)]
    assert len(list(tmp_path.iterdir())) == 1, "files that have been read are removed"


def test_a_worker_goes_on_when_the_job_has_ended(tmp_path: Path) -> None:
    writer = RecordWriter(tmp_path / "removed")
    record = logging.getLogger("told").makeRecord("told", logging.ERROR, "f", 1, "x", (), None)
    writer.handle(record)
    writer.close()
