"""The routes of HTTP by which queries come in.

========================================  ========================================================
route                                     answer
========================================  ========================================================
``GET /jobs``                             the job whose states can be queried here
``GET /jobs/{job}/state``                 its queryable states
``GET /jobs/{job}/state/{name}/{key}``    what a state has for a key; ``?entry=`` of a map
``POST /jobs/{job}/state/{name}``         the same for many keys: ``{"keys": [...]}``
``GET /jobs/{job}/state/{name}``          keys in order: ``?prefix=``, ``?from=&to=``, ``?limit=``,
                                          ``?after=``
========================================  ========================================================

``{job}`` is the name or the id of the job. Keys in paths and parameters are JSON
(:mod:`scurry.queryable.json_values`); what is not JSON is a text, so that plain words need no
quotes. All failures have one form: ``{"error": {"code": ..., "message": ...}}``.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from scurry.common.addresses import is_loopback
from scurry.queryable.errors import QueryError
from scurry.queryable.http import Request
from scurry.queryable.json_values import from_text
from scurry.queryable.queries import USUAL_ROWS, Queries

_log = logging.getLogger("scurry.queryable")
_decode = msgspec.json.Decoder().decode
_RANGE = frozenset({"prefix", "from", "to", "limit", "after"})

#: Makes the content of an answer, of what the path has behind ``state``.
Answer = Callable[[Request, list[str]], dict[str, Any]]


class Routes:
    """Answers requests from ``queries``, if they carry ``token`` where one is needed."""

    def __init__(self, queries: Queries, token: str) -> None:
        self._queries = queries
        self._expected = f"Bearer {token}".encode() if token else b""
        self._of_states: dict[tuple[str, int], Answer] = {
            ("GET", 0): self._states,
            ("GET", 1): self._scan,
            ("POST", 1): self._get_many,
            ("GET", 2): self._get,
        }

    def answer(self, request: Request) -> tuple[int, dict[str, Any]]:
        """The status of an answer, and its content."""
        try:
            self._check(request)
            return 200, self._content(request)
        except QueryError as refused:
            return refused.status, refused.content()
        except Exception as failure:
            _log.exception("a query failed")
            message = f"The query failed here: {type(failure).__name__}."
            return 500, QueryError(500, "internal", message).content()

    def _content(self, request: Request) -> dict[str, Any]:
        parts = request.parts
        if "" not in parts:
            if parts == ["jobs"] and request.method == "GET":
                return self._queries.jobs()
            if len(parts) > 2 and (parts[0], parts[2]) == ("jobs", "state"):
                answer = self._of_states.get((request.method, len(parts) - 3))
                if answer is not None:
                    self._check_job(parts[1])
                    return answer(request, parts[3:])
        raise QueryError(
            *(404, "no_such_route"),
            f"There is no {request.method} {'/' + '/'.join(parts)}. Keys that have a / in them are "
            "sent with %2F in its place.",
        )

    def _check(self, request: Request) -> None:
        if self._expected:
            given = request.headers.get("authorization", "").encode("latin-1")
            if not hmac.compare_digest(given, self._expected):
                raise QueryError(401, "no_token", "A token is needed: Authorization: Bearer ...")
        elif not _is_local(request.headers.get("host", "")):
            # a page in a browser that has its own name lead to this machine must not read state
            raise QueryError(403, "bad_host", "Queries go to 127.0.0.1 or localhost here.")

    def _check_job(self, job: str) -> None:
        status = self._queries.status()
        if job not in (status.name, status.job_id):
            message = f"The job here is {status.name!r} (id {status.job_id}), not {job!r}."
            raise QueryError(404, "no_such_job", message)

    def _states(self, request: Request, where: list[str]) -> dict[str, Any]:
        return self._queries.states()

    def _get(self, request: Request, where: list[str]) -> dict[str, Any]:
        key, given = from_text(where[1]), request.parameters
        if "entry" in given:
            return self._queries.get(where[0], key, from_text(given["entry"]))
        return self._queries.get(where[0], key)

    def _get_many(self, request: Request, where: list[str]) -> dict[str, Any]:
        try:
            told = _decode(request.body)
        except msgspec.MsgspecError as failure:
            raise QueryError(400, "bad_json", f"The body is not JSON: {failure}.") from failure
        keys = told.get("keys") if isinstance(told, dict) else None
        if not isinstance(keys, list):
            raise QueryError(400, "bad_body", 'The body is not of the form {"keys": [...]}.')
        return self._queries.get_many(where[0], keys)

    def _scan(self, request: Request, where: list[str]) -> dict[str, Any]:
        given = request.parameters
        unknown = sorted(set(given) - _RANGE)
        if unknown:
            known = ", ".join(sorted(_RANGE))
            raise QueryError(400, "bad_parameter", f"{unknown[0]!r} is none of {known}.")
        limit = given.get("limit", str(USUAL_ROWS))
        if not (limit.isascii() and limit.isdecimal()):
            raise QueryError(400, "bad_limit", f"limit is {limit!r}; it is a whole number.")
        first, last = (from_text(given[n]) if n in given else None for n in ("from", "to"))
        return self._queries.scan(
            *(where[0], given.get("prefix"), first, last, int(limit)), given.get("after")
        )


@lru_cache(maxsize=64)
def _is_local(host: str) -> bool:
    if host.startswith("["):
        return is_loopback(host[1:].partition("]")[0])
    return is_loopback(host.partition(":")[0])
