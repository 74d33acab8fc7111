"""Queryable state on the driver's side: the view, and the process that answers queries from it.

The *view* is a copy of the queryable states as of the last committed micro-batch, in LMDB, on the
machine of the driver (:mod:`scurry.engine.queryable.view`). Slots feed it
(:mod:`scurry.state.feeds`), whatever engine runs them: the commit protocol hands over what they
tell with a micro-batch, and says when the micro-batch is committed
(:mod:`scurry.engine.queryable.keeper`). Queries are answered by a process of its own
(:mod:`scurry.engine.queryable.server_process`), so that neither they nor the job wait for each
other, and answers go on while the job restarts.
"""

from __future__ import annotations
