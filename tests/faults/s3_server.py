"""A server of S3's protocol: ``python -m tests.faults.s3_server PORT``.

It is moto's, which takes a request for whole whose connection was cut on the way, and stores the
half of an object that has arrived. S3 does not, so such requests are refused here.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple


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


if __name__ == "__main__":
    app = WholeRequests(DomainDispatcherApplication(create_backend_app))
    run_simple("127.0.0.1", int(sys.argv[1]), app, threaded=True)
