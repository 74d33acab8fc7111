"""What an engine is given to run: a job without the program it was compiled from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scurry.engine.histories import JobSink
from scurry.runtime.specs import JobSpec


@dataclass(frozen=True)
class Job:
    """Operators and wires for the workers, and the sinks for the driver."""

    spec: JobSpec
    sinks: tuple[JobSink, ...]

    def take_rooms(self, room: Callable[[str], Path]) -> None:
        """Tell sources and sinks which directories they have in the checkpoint. Called when the
        job starts, before anything is sent to workers."""
        for source in self.spec.sources:
            source.source.take_room(room(source.uid))
        for each in self.sinks:
            each.sink.take_room(room(each.uid))
