"""Which redirects of an HTTP server are followed, and what may go along.

Following a redirect as browsers do has two dangers. After 301, 302 and 303 a POST becomes a GET
without a body, so nothing is delivered although the answer is a 200. And the headers of a request
go to whatever host the answer names, the token among them. So three rules hold for everything here
that speaks HTTP:

- a POST follows 307 and 308 only, which keep method and body; a GET follows all of them;
- a request with headers of the user's, or with a login in its address, stays within its *origin*
  (scheme, host and port). Which of these headers are secret cannot be told from their names, and
  without them the request would be another one, so such a redirect is an error;
- no redirect leads from ``https`` to ``http``.

The errors name both addresses, without login and query, which may hold secrets.
"""

from __future__ import annotations

import urllib.request
from typing import IO, Any
from urllib.parse import SplitResult, urlsplit

from scurry.common.errors import JobError

STATUSES = frozenset({301, 302, 303, 307, 308})
_KEEPS_METHOD = frozenset({307, 308})
_PORTS = {"http": 80, "https": 443}
#: how many redirects a request follows
LIMIT = 10


class RedirectError(JobError):
    """A server sends a request on to where it must not go."""


def check_redirect(method: str, status: int, here: str, target: str, private: bool) -> None:
    """Raise :class:`RedirectError` unless a request for ``here`` that was answered with ``status``
    may go to ``target``; ``private`` says that it carries what only ``here`` may see."""
    old, new = urlsplit(here), urlsplit(target)
    reason = ""
    if method not in ("GET", "HEAD") and status not in _KEEPS_METHOD:
        reason = f"followed, the {method} would become a GET without its content"
    elif new.scheme not in _PORTS:
        reason = f"{new.scheme!r} is neither http nor https"
    elif (old.scheme, new.scheme) == ("https", "http"):
        reason = "it would be sent unencrypted"
    elif (private or old.username is not None) and _origin(old) != _origin(new):
        reason = "its headers or its login would go to another host, port or scheme"
    if reason:
        raise RedirectError(
            f"{without_secrets(here)} answered with status {status} and sends the request on to "
            f"{without_secrets(target)}. It was not sent there, because {reason}. If that is the "
            "right address, give it in the program instead."
        )


def without_secrets(url: str) -> str:
    """An address as it may be shown: without login, query and fragment."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"


def _origin(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port or _PORTS.get(parts.scheme)


class _Redirects(urllib.request.HTTPRedirectHandler):
    max_redirections = LIMIT

    def __init__(self, private: bool) -> None:
        self._private = private

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: Any,
        newurl: str,
    ) -> urllib.request.Request:
        try:
            check_redirect(req.get_method(), code, req.full_url, newurl, self._private)
        except RedirectError:
            fp.close()
            raise
        return urllib.request.Request(
            newurl, req.data, req.headers, req.origin_req_host, True, req.get_method()
        )


def opener(private: bool) -> urllib.request.OpenerDirector:
    """Opens requests by the rules above; ``private`` says that they carry headers of the user's."""
    return urllib.request.build_opener(_Redirects(private))
