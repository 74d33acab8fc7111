"""A job on its way from the driver to the workers.

Spark hands the payload to a worker with every task. The job itself stays bytes in it, and is
unpickled only where a task or host is made that lives on; what every task needs to know lies
beside it.
"""

from __future__ import annotations

import gc
import sys

import cloudpickle

from scurry.checkpoint.layout import Home
from scurry.engine.spark.dependencies import NOTHING, Dependencies
from scurry.engine.spark.script_classes import load_with_classes
from scurry.runtime.specs import JobSpec


class JobPayload:
    """One run of a job, for the workers."""

    def __init__(
        self,
        job: JobSpec,
        checkpoint_id: str,
        routes: list[int],
        home: Home,
        dependencies: Dependencies = NOTHING,
        first: int = 0,
        begins_with_state: bool = False,
    ) -> None:
        self.dependencies = dependencies
        self.content = cloudpickle.dumps(job, protocol=5)
        self.checkpoint_id = checkpoint_id
        self.run_id = job.run_id
        self.sys_path = job.sys_path
        #: the grouping values that stand for slots
        self.routes = routes
        #: the directory of the checkpoint's generation
        self.home = home
        #: the number of the job's micro-batch that is Spark's number 0
        self.first = first
        #: whether there is state that slots begin with
        self.begins_with_state = begins_with_state
        #: bytes of an entry of the log above which it becomes a file
        self.files_above = job.state.files_above

    def load(self) -> JobSpec:
        """A copy of the job with function instances of its own."""
        for entry in self.sys_path:
            if entry not in sys.path:
                sys.path.append(entry)
        # batches are full of small tuples: at the usual pace a third of the time goes into
        # looking for cycles among them
        gc.set_threshold(100_000, 50, 100)
        job: JobSpec = load_with_classes(self.content, self.run_id)
        return job
