"""A job on its way from the driver to the workers.

Spark hands the payload to a worker with every task. The job itself stays bytes in it, and is
unpickled only where a task or host is made that lives on; what every task needs to know lies
beside it.
"""

from __future__ import annotations

import gc
import sys

from scurry.checkpoint.layout import Home
from scurry.common.any_paths import ObjectPath
from scurry.common.descriptors import raise_descriptor_limit
from scurry.engine.spark.dependencies import NOTHING, Dependencies
from scurry.engine.spark.presence import Seat
from scurry.engine.spark.script_classes import load_with_classes
from scurry.engine.unpicklable import pickled
from scurry.engine.worker_logs import LogSettings
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
        stores: str = "",
    ) -> None:
        self.dependencies = dependencies
        self.program = pickled(job)
        self.checkpoint_id = checkpoint_id
        #: the name of the directory of local stores
        self.stores = stores or checkpoint_id
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
        self.logs = LogSettings.of_this_program(home.logs / job.run_id)

    def seat(self, stage: int, slot: int) -> Seat:
        """The place of a slot's functions in this process; stage 0 is the ingress."""
        makes = isinstance(self.home.path, ObjectPath)
        return Seat(self.home.instances / self.run_id, f"{stage}-{slot}", makes)

    def prepare(self) -> None:
        """Make this process ready for a task of the job. Called before each: jobs share workers."""
        raise_descriptor_limit()
        self.dependencies.prepare()
        self.logs.apply()

    def load(self) -> JobSpec:
        """A copy of the job with function instances of its own."""
        for entry in self.sys_path:
            if entry not in sys.path:
                sys.path.append(entry)
        # batches are full of small tuples: at the usual pace a third of the time goes into
        # looking for cycles among them
        gc.set_threshold(100_000, 50, 100)
        job: JobSpec = load_with_classes(self.program)
        return job
