"""What jobs under fault have in common: they run until they are told to stop."""

from __future__ import annotations

import time
from pathlib import Path

from scurry.common.job_status import JobStatus
from scurry.datastream import StreamExecutionEnvironment


def run_until_stopped(env: StreamExecutionEnvironment, root: Path, name: str) -> None:
    """Run the job until the file ``stop`` appears in ``root``, and say that it has finished."""
    client = env.execute_async(name)
    while client.get_job_status().result() is JobStatus.RUNNING:
        if (root / "stop").exists():
            client.cancel().result()
        time.sleep(0.1)
    client.result()
    print("finished", flush=True)
