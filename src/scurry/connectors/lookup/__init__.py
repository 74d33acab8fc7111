"""Looking things up while a stream flows: ready asynchronous functions, with a cache."""

from __future__ import annotations

from scurry.connectors.lookup.cache import LookupCache
from scurry.connectors.lookup.http import AsyncHttpLookup, HttpStatusError
from scurry.connectors.lookup.lookup import AsyncLookup
from scurry.connectors.lookup.postgres import AsyncPostgresLookup

__all__ = [
    "AsyncHttpLookup",
    "AsyncLookup",
    "AsyncPostgresLookup",
    "HttpStatusError",
    "LookupCache",
]
