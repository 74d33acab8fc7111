"""What an engine is given to run: a job without the program it was compiled from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scurry.checkpoint.savepoint_manifest import GraphNode
from scurry.common.any_paths import AnyPath
from scurry.engine.histories import JobSink
from scurry.runtime.specs import JobSpec, OperatorSpec, SourceSpec


@dataclass(frozen=True)
class Job:
    """Operators and wires for the workers, and the sinks for the driver."""

    spec: JobSpec
    sinks: tuple[JobSink, ...]
    #: the same program with another parallelism
    with_parallelism: Callable[[int], JobSpec] | None = None

    @property
    def graph(self) -> list[GraphNode]:
        """The sources and operators, with where each of them runs and whom it feeds."""
        spec = self.spec
        nodes: list[tuple[OperatorSpec | SourceSpec, int]] = [(s, s.tasks) for s in spec.sources]
        nodes.extend((each, each.parallelism) for each in spec.operators.values())
        return [
            GraphNode(each.uid, each.name, spec.runs_in(each.uid), degree, _fed_by(each))
            for each, degree in nodes
        ]

    def take_rooms(self, room: Callable[[str, bool], AnyPath]) -> None:
        """Tell sources and sinks which directories they have in the checkpoint: ``room`` gives one
        for a uid, and may give one in an object store if that is said beside it. Called when the
        job starts, before anything is sent to workers."""
        for source in self.spec.sources:
            source.source.take_room(room(source.uid, source.source.room_anywhere))
        for each in self.sinks:
            each.sink.take_room(room(each.uid, each.sink.room_anywhere))


def _fed_by(spec: OperatorSpec | SourceSpec) -> list[str]:
    wires = [spec.outputs, *spec.side_outputs.values()]
    return list(dict.fromkeys(wire.target for part in wires for wire in part))
