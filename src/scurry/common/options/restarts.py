"""Options of what happens after a failure; the strategies are :mod:`scurry.engine.restarts`."""

from __future__ import annotations

from scurry.common.options.option import Option

RESTART_STRATEGY: Option[str] = Option(
    "restart-strategy.type",
    "enum",
    "none",
    "Whether, and how soon, a job that failed is started again.",
    older=("restart-strategy",),
    choices=("none", "fixed-delay", "failure-rate", "exponential-delay"),
    aliases={
        "": "none",
        "off": "none",
        "disable": "none",
        "fixeddelay": "fixed-delay",
        "failurerate": "failure-rate",
        "exponentialdelay": "exponential-delay",
    },
    setter="env.set_restart_strategy",
)
FIXED_ATTEMPTS: Option[int] = Option(
    "restart-strategy.fixed-delay.attempts",
    "integer",
    1,
    "How often a job is started again before it fails for good.",
    least=0,
)
FIXED_DELAY: Option[int] = Option(
    "restart-strategy.fixed-delay.delay", "duration", 1000, "The pause before each new start."
)
FAILURES_PER_INTERVAL: Option[int] = Option(
    "restart-strategy.failure-rate.max-failures-per-interval",
    "integer",
    1,
    "How many failures there may be within the interval.",
)
FAILURE_INTERVAL: Option[int] = Option(
    "restart-strategy.failure-rate.failure-rate-interval",
    "duration",
    60_000,
    "The interval over which failures are counted.",
)
FAILURE_RATE_DELAY: Option[int] = Option(
    "restart-strategy.failure-rate.delay", "duration", 1000, "The pause before each new start."
)
FIRST_BACKOFF: Option[int] = Option(
    "restart-strategy.exponential-delay.initial-backoff",
    "duration",
    1000,
    "The pause after the first failure.",
)
LONGEST_BACKOFF: Option[int] = Option(
    "restart-strategy.exponential-delay.max-backoff", "duration", 60_000, "The longest pause."
)
BACKOFF_FACTOR: Option[float] = Option(
    "restart-strategy.exponential-delay.backoff-multiplier",
    "number",
    1.5,
    "What the pause is multiplied by from failure to failure.",
)
BACKOFF_RESET: Option[int] = Option(
    "restart-strategy.exponential-delay.reset-backoff-threshold",
    "duration",
    3_600_000,
    "How long a job must run without a failure for the pause to be the first one again.",
)
BACKOFF_JITTER: Option[float] = Option(
    "restart-strategy.exponential-delay.jitter-factor",
    "number",
    0.1,
    "The part of the pause by which it is made longer or shorter at random.",
)
BACKOFF_ATTEMPTS: Option[int | None] = Option(
    "restart-strategy.exponential-delay.attempts-before-reset-backoff",
    "integer",
    None,
    "How many failures there may be before the job fails for good, counted anew when the pause is "
    "the first one again; any number if it is not set.",
)
