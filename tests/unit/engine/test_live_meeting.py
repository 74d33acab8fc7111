"""How the driver of the live engine meets the tasks."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from scurry.engine.live.conductor import Conductor, Settings, TaskGone
from scurry.engine.live.doors import Door, connect
from scurry.engine.progress import Progress


def test_a_task_that_comes_again_is_another_one() -> None:
    """Without barrier mode Spark runs a task that has failed once more; those who have met the
    first one cannot go on with it."""
    secret = b"secret"
    door = Door(secret)
    nothing: Any = SimpleNamespace(sources=[])
    conductor = Conductor(
        *(nothing, 2, door, nothing, nothing, Settings(0.0, 1.0, 10, 3)),
        *(threading.Event(), lambda progress: None, Progress()),
    )
    with ThreadPoolExecutor(2) as coming:
        tasks = [coming.submit(connect, door.address, secret, 1) for _ in range(2)]
        with pytest.raises(TaskGone, match="task 1 of 2 has begun anew"):
            conductor.meet(lambda: None, None)
        for task in tasks:
            task.result().close()
    door.close()
    conductor.hang_up()
    conductor.settle()
    conductor.close()
