"""Options of a job that changes its parallelism by itself; see :mod:`scurry.engine.rescaling`."""

from __future__ import annotations

from scurry.common.options.option import Option

BY_BACKLOG: Option[bool] = Option(
    "scurry.rescale.by-backlog",
    "boolean",
    False,
    "Whether a running job changes its parallelism by itself, by how many records wait in sources "
    "that can tell.",
)
LEAST: Option[int] = Option(
    "scurry.rescale.min-parallelism", "integer", 1, "The lowest parallelism it goes to.", least=1
)
MOST: Option[int] = Option(
    "scurry.rescale.max-parallelism", "integer", 8, "The highest parallelism it goes to.", least=1
)
TARGET: Option[int] = Option(
    "scurry.rescale.target-backlog",
    "duration",
    60_000,
    "How long reading what waits may take at the present rate before the job gets more slots.",
    least=1,
)
COOL_DOWN: Option[int] = Option(
    "scurry.rescale.cool-down",
    "duration",
    300_000,
    "The least time between two changes of the parallelism.",
    least=0,
)
