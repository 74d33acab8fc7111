"""What an engine is given to run: a job without the program it was compiled from."""

from __future__ import annotations

from dataclasses import dataclass

from scurry.engine.histories import JobSink
from scurry.runtime.specs import JobSpec


@dataclass(frozen=True)
class Job:
    """Operators and wires for the workers, and the sinks for the driver."""

    spec: JobSpec
    sinks: tuple[JobSink, ...]
