"""Log records of workers, on their way to the driver.

A program configures logging in its main part: levels, handlers, formats. Its functions run in other
processes, where nothing is configured. So workers take over the levels of the main program and
write every record that passes them to a file in the checkpoint, one JSON line each. The driver
reads the files while the job runs, and hands each record to the logger of the same name, as if it
had been made there: it reaches the program's own handlers, formatted as they say::

    logs/<run>/host-4711.0    records of process 4711

A line is in the file before the call that logs it returns, so nothing is lost when a worker fails
or dies right after it. A file that has grown large is followed by another one, and removed when it
has been read.
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
import threading
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

#: Bytes after which a worker begins another file.
_FILE_BYTES = 16 << 20
_LOOK_SECONDS = 0.2
_KNOWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


@dataclass(frozen=True)
class LogSettings:
    """What a program has configured that decides which records are made, and where they go."""

    directory: Path
    #: levels by the names of loggers; the root's name is empty
    levels: Mapping[str, int]
    #: loggers that are turned off
    disabled: frozenset[str]
    #: records up to this level are never made
    ignored: int

    @classmethod
    def of_this_program(cls, directory: Path) -> LogSettings:
        """The settings as they are now."""
        manager = logging.root.manager
        loggers = {
            name: logger
            for name, logger in manager.loggerDict.items()
            if isinstance(logger, logging.Logger)
        }
        levels = {name: logger.level for name, logger in loggers.items() if logger.level}
        disabled = frozenset(name for name, logger in loggers.items() if logger.disabled)
        return cls(directory, {"": logging.root.level, **levels}, disabled, manager.disable)

    def apply(self) -> None:
        """Have this worker log as the program says. Called before each task; workers may serve
        several programs."""
        global _applied, _writer
        if _applied == self.directory:
            return
        if _writer is not None:
            logging.root.removeHandler(_writer)
            _writer.close()
        for name, level in self.levels.items():
            logging.getLogger(name).setLevel(level)
        for name in self.disabled:
            logging.getLogger(name).disabled = True
        logging.disable(self.ignored)
        _writer, _applied = RecordWriter(self.directory), self.directory
        logging.root.addHandler(_writer)


#: The settings that this worker follows, by their directory.
_applied: Path | None = None
_writer: RecordWriter | None = None


class RecordWriter(logging.Handler):
    """Writes the records of this process to files in ``directory``."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._stem = directory / f"{socket.gethostname()}-{os.getpid()}"
        self._number = 0
        self._file = -1
        self._written = 0

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._write(msgspec.json.encode(_told(record)) + b"\n")
        except FileNotFoundError:
            pass  # the job has ended, and the driver has removed the directory
        except Exception:
            self.handleError(record)

    def _write(self, line: bytes) -> None:
        if self._file < 0:
            path = f"{self._stem}.{self._number}"
            self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(self._file, line)
        self._written += len(line)
        if self._written > _FILE_BYTES:
            self._end_file()

    def _end_file(self) -> None:
        os.close(self._file)
        self._file, self._written, self._number = -1, 0, self._number + 1

    def close(self) -> None:
        if self._file >= 0:
            self._end_file()
        super().close()


def _told(record: logging.LogRecord) -> dict[str, Any]:
    """What the driver needs to make the same record."""
    failure = record.exc_text
    if not failure and record.exc_info and record.exc_info[1] is not None:
        failure = "".join(traceback.format_exception(record.exc_info[1])).rstrip()
    told = {
        "msg": record.getMessage(),
        "exc_text": failure,
        **{name: getattr(record, name) for name in _CARRIED},
    }
    extra = {name: value for name, value in vars(record).items() if name not in _KNOWN}
    for name, value in extra.items():
        told[name] = value if isinstance(value, (str, int, float, type(None))) else str(value)
    return told


_CARRIED = (
    *("name", "levelno", "levelname", "pathname", "filename", "module", "lineno", "funcName"),
    *("created", "msecs", "process", "processName", "thread", "threadName", "stack_info"),
)


class LogReader:
    """Hands the records of all workers of a run to the loggers of this process, while the block of
    its ``with`` is executed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._positions: dict[str, int] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="scurry-logs", daemon=True)

    def __enter__(self) -> LogReader:
        self._directory.mkdir(parents=True, exist_ok=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        self.read()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _watch(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            self.read()

    def read(self) -> None:
        """Hand on what is new, each worker's records in their order."""
        names = sorted(os.listdir(self._directory), key=_number) if self._directory.exists() else []
        stems = [name.rpartition(".")[0] for name in names]
        for at, name in enumerate(names):
            self._read_file(self._directory / name)
            if stems[at] in stems[at + 1 :]:
                self._read_file(self._directory / name)
                (self._directory / name).unlink()

    def _read_file(self, path: Path) -> None:
        begin = self._positions.get(path.name, 0)
        with path.open("rb") as file:
            file.seek(begin)
            content = file.read()
        whole = content[: content.rfind(b"\n") + 1]
        self._positions[path.name] = begin + len(whole)
        for line in whole.splitlines():
            record = logging.makeLogRecord(msgspec.json.decode(line))
            logging.getLogger(record.name).handle(record)


def _number(name: str) -> tuple[str, int]:
    stem, _, number = name.rpartition(".")
    return stem, int(number)
