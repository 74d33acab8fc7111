"""Options of queryable state: whether and where queries about a running job are answered."""

from __future__ import annotations

from scurry.common.options.option import Option

QUERYABLE: Option[bool] = Option(
    "queryable-state.enable",
    "boolean",
    False,
    "Whether queries about states that were made queryable are answered while the job runs.",
)
QUERY_PORTS: Option[str] = Option(
    "queryable-state.server.ports",
    "string",
    "9067",
    "The port at which queries are answered, or a range such as `9067-9080`, of which the first "
    "free one is taken; 0 is any free port.",
)
QUERY_HOST: Option[str] = Option(
    "scurry.queryable-state.host",
    "string",
    "127.0.0.1",
    "The address at which queries are answered; an address that other machines can reach needs a "
    "token.",
)
QUERY_TOKEN: Option[str] = Option(
    "scurry.queryable-state.token",
    "string",
    "",
    "What a query has to send as `Authorization: Bearer <token>`, if set.",
)
QUERY_LINGER: Option[int] = Option(
    "scurry.queryable-state.linger",
    "duration",
    300_000,
    "How long queries are answered, with what was committed last and marked as stale, when the "
    "driver has died or the job has failed.",
    least=0,
)
VIEW_DIRECTORY: Option[str] = Option(
    "scurry.queryable-state.dir",
    "string",
    "",
    "Where the driver keeps the copy of queryable states that queries are answered from; the "
    "temporary directory if it is not set.",
)
