"""`PushSource`: records that other programs post over HTTP; for small use.

A server on the driver takes JSON, one value or an array of values, and writes each value as a line
to a spool file. It answers 200 only when the lines are on disk, so whatever it has accepted can be
read again after a crash. A spool file is deleted once committed micro-batches have read all of it.

The server listens on the loopback address unless told otherwise, and wants a token. Workers read
the spool directory, so it must be on a file system that they share with the driver.
"""

from __future__ import annotations

import hmac
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec

from scurry.common.errors import ProgramError
from scurry.common.type_information import TypeInformation
from scurry.connectors.files.json_lines import JsonLinesFormat
from scurry.functions.source import (
    LAG,
    Json,
    ReadPlan,
    ReadRange,
    Source,
    SourceBatch,
    SourceEnumerator,
)

_MOST_BYTES = 16 << 20
_SPOOL_BYTES = 64 << 20


class PushSource(Source):
    """Takes records at ``http://host:port/`` by POST with ``Authorization: Bearer <token>``.

    Records are what JSON says, or of ``type_info``. ``directory`` is where they wait; a job that is
    restarted must use the same.
    """

    bounded = False
    max_tasks = 1

    def __init__(
        self,
        directory: str | Path,
        port: int,
        token: str,
        host: str = "127.0.0.1",
        type_info: TypeInformation | type | None = None,
    ) -> None:
        if not token:
            raise ProgramError("PushSource needs a token, so that not everybody can send records.")
        self._directory = str(directory)
        self._address = (host, port)
        self._token = token
        self._format = JsonLinesFormat(type_info)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_token": ""}

    @property
    def type_info(self) -> TypeInformation | None:
        return self._format.type_info

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        spool = Spool(Path(self._directory))
        return _PushEnumerator(spool, PushServer(self._address, self._token, spool, self._format))

    def read(self, what: Json) -> Iterator[SourceBatch]:
        name, start, end = what
        return self._format.read(os.path.join(self._directory, name), start, end)


class Spool:
    """Files of lines: one grows, the others wait to be read."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.directory = directory
        self._lock = threading.Lock()
        #: how many bytes of the file that grows were written whole
        self._whole: dict[str, int] = {}
        #: how many lines each spool file has
        self._lines = {path.name: _cut_off_half_a_line(path) for path in directory.glob("*.jsonl")}

    def names(self) -> list[str]:
        """The spool files, oldest first."""
        return sorted(path.name for path in self.directory.glob("*.jsonl"))

    def append(self, lines: bytes) -> None:
        """Write lines; when this returns they are on disk. If it fails, on a full disk for example,
        nothing of them is ever read, and the next lines do not continue half of them."""
        with self._lock:
            names = self.names()
            path = self.directory / (names[-1] if names else f"{0:012d}.jsonl")
            if path.exists() and path.stat().st_size >= _SPOOL_BYTES:
                path = self.directory / f"{int(path.stem) + 1:012d}.jsonl"
            whole = self._whole.get(path.name)
            if whole is not None and whole != path.stat().st_size:
                os.truncate(path, whole)
            with path.open("ab") as file:
                self._whole = {path.name: file.tell()}
                file.write(lines)
                file.flush()
                os.fsync(file.fileno())
            self._whole = {path.name: path.stat().st_size}
            self._lines[path.name] = self._lines.get(path.name, 0) + lines.count(b"\n")

    def size(self, name: str) -> int:
        """How far a spool file may be read."""
        with self._lock:
            return self._whole.get(name, (self.directory / name).stat().st_size)

    def lines_from(self, name: str) -> int:
        """How many lines there are in ``name`` and the spool files after it."""
        with self._lock:
            return sum(lines for other, lines in self._lines.items() if other >= name)

    def lines_between(self, name: str, start: int, end: int) -> int:
        """How many lines a spool file has in its bytes from ``start`` up to ``end``."""
        if start == end:
            return 0
        with (self.directory / name).open("rb") as file:
            file.seek(start)
            return file.read(end - start).count(b"\n")

    def delete_before(self, name: str) -> None:
        """Delete the spool files older than ``name``."""
        for other in self.names():
            if other < name:
                (self.directory / other).unlink(missing_ok=True)
                with self._lock:
                    self._lines.pop(other, None)


def _cut_off_half_a_line(path: Path) -> int:
    """Cut off what a crash left behind in the middle of writing, which was never acknowledged;
    returns how many lines the file has."""
    content = path.read_bytes()
    if content and not content.endswith(b"\n"):
        os.truncate(path, content.rfind(b"\n") + 1)
    return content.count(b"\n")


class PushServer:
    """Answers requests, in threads of its own."""

    def __init__(
        self, address: tuple[str, int], token: str, spool: Spool, form: JsonLinesFormat
    ) -> None:
        handler = type(
            "Handler", (_Handler,), {"token": token.encode(), "spool": spool, "form": form}
        )
        try:
            self._server = ThreadingHTTPServer(address, handler)
        except OSError as failure:
            raise ProgramError(
                f"PushSource cannot listen at {address[0]}:{address[1]}: {failure.strerror}. Is "
                "another job using that port?"
            ) from failure
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Take no more requests."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    token: bytes
    spool: Spool
    form: JsonLinesFormat

    def do_POST(self) -> None:
        given = self.headers.get("Authorization", "").encode()
        if not hmac.compare_digest(given, b"Bearer " + self.token):
            self._answer(401, "send the header Authorization: Bearer <token>")
            return
        length = self.headers.get("Content-Length") or ""
        size = int(length) if length.isdecimal() else 0
        if not 0 < size <= _MOST_BYTES:
            self._answer(413, f"send between 1 and {_MOST_BYTES} bytes, with Content-Length")
            return
        try:
            value = msgspec.json.decode(self.rfile.read(size))
            records = value if isinstance(value, list) else [value]
            lines = b"".join(msgspec.json.encode(record) + b"\n" for record in records)
            self.form.parse(lines)
        except msgspec.DecodeError as failure:
            self._answer(400, f"not the JSON that was expected: {failure}")
            return
        try:
            if records:
                self.spool.append(lines)
        except OSError as failure:
            self._answer(
                503, f"the records could not be kept ({failure.strerror}): send them again"
            )
            return
        self._answer(200, f"{len(records)} records accepted")

    def _answer(self, status: int, text: str) -> None:
        body = msgspec.json.encode({"message": text})
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged."""


class _PushEnumerator(SourceEnumerator):
    def __init__(self, spool: Spool, server: PushServer) -> None:
        self._spool = spool
        self.server = server
        #: up to where lines have been planned: the file, the byte, and the lines before it
        self._planned = ("", 0, 0)
        self._left = 0

    def initial_position(self) -> Json:
        return {"file": "", "at": 0}

    def plan(self, position: Json, max_records: int) -> ReadPlan:
        name, at = position["file"], position["at"]
        for other in self._spool.names():
            start = at if other == name else 0
            if other < name:
                continue
            size = self._spool.size(other)
            if size > start:
                path = str(self._spool.directory / other)
                end, _ = JsonLinesFormat().cut(path, start, size, max_records, complete=False)
                self._count(other, start, end)
                after = {"file": other, "at": end}
                return ReadPlan(after, [ReadRange("0", [other, start, end])])
        self._left = 0
        return ReadPlan(position)

    def _count(self, name: str, start: int, end: int) -> None:
        """Count the lines that are left behind ``end``, after a plan from ``start`` on."""
        known, at, before = self._planned
        if (known, at) != (name, start):
            before = self._spool.lines_between(name, 0, start)
        before += self._spool.lines_between(name, start, end)
        self._planned = (name, end, before)
        self._left = self._spool.lines_from(name) - before

    def gauges(self) -> dict[str, int]:
        return {LAG: self._left}

    def committed(self, position: Json) -> None:
        if position["file"]:
            self._spool.delete_before(position["file"])

    def close(self) -> None:
        self.server.close()
