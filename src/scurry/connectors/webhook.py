"""`WebhookSink`: records posted to an HTTP address, at least once.

The driver posts the records of a micro-batch as JSON, in groups. A request that fails for a reason
that may pass (no connection, 429, 5xx) is sent again. After a crash a batch may be posted a second
time, so the sink is at-least-once. Each request carries an ``Idempotency-Key``, which is the same
when a batch is posted again, so that the receiver can drop what it has already. Batches that have
the same number in another history of the checkpoint have other keys.

A redirect is followed if it keeps the POST a POST and sends the headers to no other host; otherwise
it ends the job (see :mod:`scurry.connectors.redirects`).
"""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from scurry.common.errors import JobError, ProgramError
from scurry.common.types import Row
from scurry.connectors.memory import BufferWriter
from scurry.connectors.patience import DEFAULT_SECONDS, Patience
from scurry.connectors.redirects import RedirectError, opener, without_secrets
from scurry.functions.history import History, NumbersOnly
from scurry.functions.sink import (
    AT_LEAST_ONCE,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)

_PASSING = (408, 425, 429)


class WebhookSink(Sink):
    """Posts records as JSON arrays of at most ``max_records``; ``headers`` may hold a token."""

    guarantee = AT_LEAST_ONCE

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        max_records: int = 1000,
        timeout_seconds: float = 30.0,
        patience_seconds: float = DEFAULT_SECONDS,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ProgramError(f"WebhookSink needs an http or https address, got {url!r}.")
        if max_records < 1:
            raise ProgramError(f"WebhookSink: max_records must be positive, got {max_records}.")
        self._url = url
        self._where = without_secrets(url)
        self._headers = dict(headers or {})
        self._max_records = max_records
        self._timeout = timeout_seconds
        self._patience = patience_seconds
        self._name = ""
        self._history: History = NumbersOnly()

    def __getstate__(self) -> dict[str, Any]:
        # writers never post, so tokens stay on the driver
        return {**self.__dict__, "_url": "", "_headers": {}}

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return BufferWriter(context)

    def start(self, context: CommitterContext) -> None:
        self._name = f"{context.checkpoint_id}/{context.uid}"
        self._history = context.history

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        ordered = sorted(messages, key=lambda message: message[0])
        rows = [_json(row) for _, part in ordered for row in part]
        branch = self._history.token(batch_id)
        batch = f"{self._name}/{branch}/{batch_id}" if branch else f"{self._name}/{batch_id}"
        waiting = Patience(self._where, self._patience, purpose="post records")
        for number, at in enumerate(range(0, len(rows), self._max_records)):
            body = msgspec.json.encode(rows[at : at + self._max_records])
            request = urllib.request.Request(
                self._url,
                body,
                {
                    "Content-Type": "application/json",
                    "Idempotency-Key": f"{batch}/{number}",
                    **self._headers,
                },
                method="POST",
            )
            try:
                waiting.call(lambda request=request: self._post(request), _is_passing)  # type: ignore[misc]
            except RedirectError as failure:
                raise JobError(f"WebhookSink: {failure}") from failure
            except urllib.error.HTTPError as failure:
                with failure:
                    answer = failure.read(500).decode("utf-8", "replace")
                raise JobError(
                    f"WebhookSink: {self._where} refuses records with status {failure.code}: "
                    f"{answer or failure.reason}"
                ) from failure

    def _post(self, request: urllib.request.Request) -> None:
        with opener(bool(self._headers)).open(request, timeout=self._timeout) as answer:
            answer.read()


def _is_passing(failure: Exception) -> bool:
    if isinstance(failure, urllib.error.HTTPError):
        passing = failure.code >= 500 or failure.code in _PASSING
        if passing:
            failure.close()
        return passing
    return isinstance(failure, (OSError, http.client.HTTPException))


def _json(row: Any) -> Any:
    if isinstance(row, Row):
        return row.as_dict(recursive=True) if row._names is not None else list(row)
    return row
