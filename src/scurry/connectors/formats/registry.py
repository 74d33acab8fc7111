"""Schemas kept in a Confluent schema registry, and the wire format that refers to them.

Such a message is a zero byte, the schema's number in four bytes, and the Avro body. The registry is
asked over HTTP once for each number; the answer never changes, so it is kept for good.
"""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from scurry.common.errors import ConfigurationError, TypeMismatchError
from scurry.connectors.redirects import RedirectError, opener

_CONTENT = "application/vnd.schemaregistry.v1+json"
_MAGIC = 0
_HEAD = 5


class SchemaRegistry:
    """A registry at ``url``; user name and password may be part of it, and are never shown."""

    def __init__(self, url: str, timeout_seconds: float = 10.0) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigurationError(
                "A schema registry is named by a URL such as 'http://registry:8081'."
            )
        host = parts.hostname if parts.port is None else f"{parts.hostname}:{parts.port}"
        self.url = f"{parts.scheme}://{host}{parts.path.rstrip('/')}"
        self._login = None
        if parts.username is not None:
            pair = f"{urllib.parse.unquote(parts.username)}:"
            pair += urllib.parse.unquote(parts.password or "")
            self._login = base64.b64encode(pair.encode()).decode()
        self._timeout = timeout_seconds
        self._schemas: dict[int, str] = {}
        self._numbers: dict[tuple[str, str], int] = {}

    def schema(self, number: int) -> str:
        """The schema with that number."""
        if number not in self._schemas:
            answer = self._ask(f"/schemas/ids/{number}")
            self._schemas[number] = answer["schema"]
        return self._schemas[number]

    def register(self, subject: str, schema: str) -> int:
        """The number of ``schema`` below ``subject``, where it is added if it is new."""
        if (subject, schema) not in self._numbers:
            place = f"/subjects/{urllib.parse.quote(subject, safe='')}/versions"
            self._numbers[subject, schema] = self._ask(place, {"schema": schema})["id"]
        return self._numbers[subject, schema]

    def _ask(self, place: str, content: dict[str, Any] | None = None) -> Any:
        body = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(self.url + place, body, {"Accept": _CONTENT})
        if body is not None:
            request.add_header("Content-Type", _CONTENT)
        if self._login is not None:
            request.add_header("Authorization", f"Basic {self._login}")
        private = self._login is not None
        try:
            with opener(private).open(request, timeout=self._timeout) as answer:
                return json.load(answer)
        except RedirectError as astray:
            raise ConfigurationError(f"The schema registry: {astray}") from None
        except urllib.error.HTTPError as refused:
            with refused:
                reason = refused.read(500).decode(errors="replace")
            raise ConfigurationError(
                f"The schema registry answered {refused.code} to {self.url}{place}: {reason}"
            ) from None
        except (urllib.error.URLError, TimeoutError) as away:
            raise ConfigurationError(
                f"The schema registry at {self.url} cannot be reached: {away}"
            ) from None


def split_message(message: bytes) -> tuple[int, bytes]:
    """The schema's number and the body of a message."""
    if len(message) < _HEAD or message[0] != _MAGIC:
        raise TypeMismatchError(
            "the message does not begin as one that was written with a schema registry"
        )
    return int.from_bytes(message[1:_HEAD], "big"), message[_HEAD:]


def join_message(number: int, body: bytes) -> bytes:
    """The message behind :func:`split_message`'s parts."""
    return bytes([_MAGIC]) + number.to_bytes(4, "big") + body
