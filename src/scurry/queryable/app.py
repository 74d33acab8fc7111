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
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from aiohttp import web

from scurry.common.addresses import is_loopback
from scurry.queryable.errors import QueryError
from scurry.queryable.json_values import from_text
from scurry.queryable.queries import USUAL_ROWS, Queries

_log = logging.getLogger("scurry.queryable")
#: The most bytes of a request's body.
_LARGEST = 1 << 20
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
#: Parts of paths; by themselves they would not take braces.
_STATES, _NAME, _KEY = "/jobs/{job:[^/]+}/state", "{name:[^/]+}", "{key:[^/]+}"
_RANGE = frozenset({"prefix", "from", "to", "limit", "after"})

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
#: Makes the content of an answer.
Answer = Callable[[web.Request], Awaitable[dict[str, Any]]]


class Routes:
    """Answers requests from ``queries``, if they carry ``token`` where one is needed."""

    def __init__(self, queries: Queries, token: str) -> None:
        self._queries = queries
        self._expected = f"Bearer {token}".encode() if token else b""

    def application(self) -> web.Application:
        """All routes."""
        made = web.Application(client_max_size=_LARGEST)
        routes: tuple[tuple[str, str, Answer], ...] = (
            ("GET", "/jobs", self._jobs),
            ("GET", _STATES, self._states),
            ("GET", f"{_STATES}/{_NAME}", self._scan),
            ("POST", f"{_STATES}/{_NAME}", self._get_many),
            ("GET", f"{_STATES}/{_NAME}/{_KEY}", self._get),
            ("*", "/{rest:.*}", _no_such_route),
        )
        for method, path, answer in routes:
            made.router.add_route(method, path, self._answering(answer))
        return made

    def _answering(self, answer: Answer) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            try:
                self._check(request)
                return _json(200, await answer(request))
            except QueryError as refused:
                return _json(refused.status, refused.content())
            except web.HTTPRequestEntityTooLarge:
                message = f"The body is larger than {_LARGEST} bytes."
                return _json(413, QueryError(413, "too_large", message).content())
            except Exception as failure:
                _log.exception("a query failed")
                message = f"The query failed here: {type(failure).__name__}."
                return _json(500, QueryError(500, "internal", message).content())

        return handle

    def _check(self, request: web.Request) -> None:
        if self._expected:
            given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
            if not hmac.compare_digest(given, self._expected):
                raise QueryError(401, "no_token", "A token is needed: Authorization: Bearer ...")
        elif not is_loopback(_host(request)):
            # a page in a browser that has its own name lead to this machine must not read state
            raise QueryError(403, "bad_host", "Queries go to 127.0.0.1 or localhost here.")
        job = request.match_info.get("job")
        status = self._queries.status()
        if job is not None and job not in (status.name, status.job_id):
            message = f"The job here is {status.name!r} (id {status.job_id}), not {job!r}."
            raise QueryError(404, "no_such_job", message)

    async def _jobs(self, request: web.Request) -> dict[str, Any]:
        return self._queries.jobs()

    async def _states(self, request: web.Request) -> dict[str, Any]:
        return self._queries.states()

    async def _get(self, request: web.Request) -> dict[str, Any]:
        where = request.match_info
        key = from_text(where["key"])
        if "entry" in request.query:
            return self._queries.get(where["name"], key, from_text(request.query["entry"]))
        return self._queries.get(where["name"], key)

    async def _get_many(self, request: web.Request) -> dict[str, Any]:
        try:
            told = _decode(await request.read())
        except msgspec.MsgspecError as failure:
            raise QueryError(400, "bad_json", f"The body is not JSON: {failure}.") from failure
        keys = told.get("keys") if isinstance(told, dict) else None
        if not isinstance(keys, list):
            raise QueryError(400, "bad_body", 'The body is not of the form {"keys": [...]}.')
        return self._queries.get_many(request.match_info["name"], keys)

    async def _scan(self, request: web.Request) -> dict[str, Any]:
        given = request.query
        unknown = sorted(set(given) - _RANGE)
        if unknown:
            known = ", ".join(sorted(_RANGE))
            raise QueryError(400, "bad_parameter", f"{unknown[0]!r} is none of {known}.")
        limit = given.get("limit", str(USUAL_ROWS))
        if not limit.isdecimal():
            raise QueryError(400, "bad_limit", f"limit is {limit!r}; it is a whole number.")
        first, last = (from_text(given[n]) if n in given else None for n in ("from", "to"))
        return self._queries.scan(
            *(request.match_info["name"], given.get("prefix"), first, last, int(limit)),
            given.get("after"),
        )


async def _no_such_route(request: web.Request) -> dict[str, Any]:
    raise QueryError(
        *(404, "no_such_route"),
        f"There is no {request.method} {request.path}. Keys that have a / in them are sent with "
        "%2F in its place.",
    )


def _host(request: web.Request) -> str:
    given = str(request.host)
    if given.startswith("["):
        return given[1:].partition("]")[0]
    return given.partition(":")[0]


def _json(status: int, content: dict[str, Any]) -> web.Response:
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return web.Response(
        body=_encode(content), status=status, content_type="application/json", headers=headers
    )
