"""With how many tasks a round of the live engine still takes as long as it may.

In a round every task tells every other one, for each stage, that it has sent everything: N tasks
send each other N·(N - 1) messages a stage. ``docs/concepts/engines.md`` has what was measured. With
64 tasks the driver needs as long to plan a round as rounds linger if nothing is set, and each task
needs half of that. Beyond that, rounds follow each other more slowly; results are the same.
"""

from __future__ import annotations

import logging

from scurry.common.options import execution

#: Above so many tasks a round takes longer than rounds linger.
MANY_TASKS = 64
#: Microseconds of a round for each task: what the driver needs, and half as much again.
_LINGER_US = 100
_log = logging.getLogger("scurry.engine")


def tell_of_many_tasks(tasks: int) -> None:
    """Log a warning if a job has more tasks than the live engine is made for."""
    if tasks > MANY_TASKS:
        _log.warning(
            "The job has %s tasks in the live engine, which was measured with 32 and is made for "
            "%s at most: each task tells each other one about every round, so rounds with more "
            "tasks take longer. Give the job fewer slots (env.set_parallelism), set %s to %s ms "
            "or more, so that there are fewer rounds, or use execution.engine: micro-batch.",
            *(tasks, MANY_TASKS, execution.LIVE_LINGER.key),
            _LINGER_US * tasks // 1000,
        )
