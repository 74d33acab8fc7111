"""Queryable state: what a running job holds, asked for over HTTP.

A state is made queryable by its descriptor (``descriptor.set_queryable("name")``), windows by
``stream.window(...).set_queryable("name")``. The configuration ``queryable-state.enable`` has
queries answered. :class:`QueryableStateClient` asks them.
"""

from __future__ import annotations

from scurry.queryable.client import Answer, QueryableStateClient, QueryFailed

__all__ = ["Answer", "QueryFailed", "QueryableStateClient"]
