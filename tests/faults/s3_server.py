"""A server of S3's protocol: ``python -m tests.faults.s3_server PORT``.

It is moto's, which takes a request for whole whose connection was cut on the way, and stores the
half of an object that has arrived, or nothing of it where the cut is in the headers. S3 does not,
so such requests are refused here.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, run_simple


class WholeRequests:
    """Passes on to ``app`` what has arrived whole."""

    def __init__(self, app: Callable[..., Iterable[bytes]]) -> None:
        self._app = app

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(length)
        if len(body) < length:
            start("400 Bad Request", [])
            return [b""]
        environ["wsgi.input"] = io.BytesIO(body)
        return self._app(environ, start)


class Lines:
    """The lines of a request, and the last one that was read."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self.last = b""

    def readline(self, *most: int) -> bytes:
        self.last = self._source.readline(*most)
        return self.last


class WholeHeaders(WSGIRequestHandler):
    """Hands on a request when its headers have come to their end, which is an empty line."""

    def parse_request(self) -> bool:
        source = self.rfile
        lines: Any = Lines(source)
        self.rfile = lines
        try:
            parsed = super().parse_request()
        finally:
            self.rfile = source
        return parsed and lines.last in (b"\r\n", b"\n")


if __name__ == "__main__":
    app = WholeRequests(DomainDispatcherApplication(create_backend_app))
    run_simple("127.0.0.1", int(sys.argv[1]), app, threaded=True, request_handler=WholeHeaders)
