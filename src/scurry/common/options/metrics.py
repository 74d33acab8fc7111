"""Options of the metrics that a job shows to others."""

from __future__ import annotations

from scurry.common.options.option import Option

PROMETHEUS_PORT: Option[str] = Option(
    "metrics.reporter.prom.port",
    "string",
    "",
    "The port at which a running job answers Prometheus, or a range such as `9250-9260`, of which "
    "the first free one is taken; 0 is any free port. Without it there is no such port.",
)
PROMETHEUS_HOST: Option[str] = Option(
    "metrics.reporter.prom.host",
    "string",
    "127.0.0.1",
    "The address at which it listens; an address that other machines can reach needs a token.",
)
PROMETHEUS_TOKEN: Option[str] = Option(
    "metrics.reporter.prom.token",
    "string",
    "",
    "What a scrape has to send as `Authorization: Bearer <token>`, if set.",
)
STATUS_FILE: Option[bool] = Option(
    "scurry.metrics.status-file",
    "boolean",
    True,
    "Whether a running job writes its metrics to its directory every second, for `scurry status`.",
)
