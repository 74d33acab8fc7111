"""The job under fault with its checkpoint at a URL:
``python -m tests.faults.object_driver ROOT URL OPTIONS ENGINE``, the store's options as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.faults.job import build

from scurry.common import Configuration, RestartStrategies
from scurry.datastream import StreamExecutionEnvironment

SLOTS = 2


def main(root: Path, location: str, options: dict[str, str], engine: str) -> None:
    """Run the job to its end."""
    settings = {
        "spark.master": "local[3]",
        "execution.engine": engine,
        "execution.checkpointing.dir": location,
        "execution.checkpointing.interval": "100 ms",
        "scurry.state.local-dir": str(root / "local"),
        "scurry.batch.max-records": "20",
        "scurry.state.compact-above": "4000",
        "scurry.state.runs-above": "2",
        **{f"scurry.checkpoint.store.{name}": value for name, value in options.items()},
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.of(settings))
    env.set_parallelism(SLOTS)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(1000, 50))
    build(env, root)
    env.on_progress(lambda p: print("batch", p.batch, p.restarts, flush=True))
    env.execute()
    print("finished", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]), sys.argv[4])
