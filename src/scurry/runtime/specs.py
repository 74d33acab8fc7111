"""What a job is made of at run time: operators, how they are wired, which stage runs them.

The compiler writes these, workers read them. They are pickled once and cached by every worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scurry.common.options.execution import LIVE, MICRO_BATCH
from scurry.common.type_information import TypeInformation
from scurry.functions.sink import EXACTLY_ONCE
from scurry.functions.source import Source
from scurry.state.backends import StateSettings
from scurry.state.inventory import OperatorRecord

if TYPE_CHECKING:
    from scurry.runtime.combining import Combiner
    from scurry.runtime.operator import Operator
    from scurry.runtime.partitioners import Partitioning


@dataclass(frozen=True)
class Wire:
    """Where an output leads.

    Without ``partitioning`` the target is chained: it runs in the same task, on the same batch.
    With it, records travel to a slot of the target's stage, as input number ``port``.
    """

    target: str
    port: int = 0
    partitioning: Partitioning | None = None
    #: what combines records before they travel
    combiner: Combiner | None = None


@dataclass(frozen=True)
class OperatorSpec:
    """One operator: how to make it, and where its outputs lead."""

    uid: str
    name: str
    make: Callable[[OperatorSpec], Operator]
    location: str = ""
    parallelism: int = 1
    type_info: TypeInformation | None = None
    outputs: tuple[Wire, ...] = ()
    side_outputs: Mapping[str, tuple[Wire, ...]] = field(default_factory=dict)
    #: whether elements that user code fails on go to a side output instead of failing the job
    dead_letters: bool = False
    #: batch execution: event time stands still until the input ends, results are final ones only
    batch: bool = False


@dataclass(frozen=True)
class SourceSpec:
    """A source and the chain it feeds."""

    uid: str
    name: str
    source: Source
    tasks: int
    outputs: tuple[Wire, ...]
    type_info: TypeInformation | None = None
    side_outputs: Mapping[str, tuple[Wire, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Forgetting:
    """State that a changed program leaves behind: the first micro-batch of the program drops it."""

    #: the number of that micro-batch
    batch: int = -1
    #: operators and sources by the stage that holds something of theirs, 0 for the ingress
    by_stage: Mapping[int, frozenset[str]] = field(default_factory=dict)

    def at(self, batch: int, stage: int) -> frozenset[str]:
        """Whose state ``stage`` drops in micro-batch ``batch``."""
        return self.by_stage.get(stage, frozenset()) if batch == self.batch else frozenset()


@dataclass(frozen=True)
class Alignment:
    """A source's place in a group of sources whose watermarks stay close together."""

    group: str
    #: by how many milliseconds the source may be ahead of the last one of its group
    drift: int
    #: the cell in which its partitions keep the highest timestamp seen
    cell: str


@dataclass(frozen=True)
class JobSpec:
    """A whole job, ready to run."""

    name: str
    run_id: str
    parallelism: int
    max_parallelism: int
    sources: tuple[SourceSpec, ...]
    operators: Mapping[str, OperatorSpec]
    #: uids of the operators that receive records over the wire, by stage, from stage 1
    stages: tuple[tuple[str, ...], ...]
    parameters: Mapping[str, str] = field(default_factory=dict)
    local_root: str = ""
    sys_path: tuple[str, ...] = ()
    #: whether records need a place to be merged by, because channels meet somewhere
    ordered: bool = False
    #: the sources that wait for others, by uid
    alignment: Mapping[str, Alignment] = field(default_factory=dict)
    #: what the job promises about its output
    guarantee: str = EXACTLY_ONCE
    state: StateSettings = field(default_factory=StateSettings)
    #: the operators that keep something, sources and sinks included
    inventory: Mapping[str, OperatorRecord] = field(default_factory=dict)
    forgetting: Forgetting = field(default_factory=Forgetting)
    #: whether functions hand on their very objects, without copies
    object_reuse: bool = False
    #: what executes it: see :mod:`scurry.common.options.execution`
    engine: str = MICRO_BATCH
    #: whether the checkpoint is in an object store
    in_objects: bool = False
    #: the view that slots feed with their queryable states, if there is one
    view: str = ""

    @property
    def kept_as(self) -> str:
        """The engine in whose form the checkpoint is. In an object store both have the same."""
        return LIVE if self.in_objects else self.engine

    @property
    def ingress_tasks(self) -> int:
        """Into how many tasks the reading of all sources is spread."""
        return max((source.tasks for source in self.sources), default=1)

    @property
    def hosted(self) -> dict[str, int]:
        """The operators that run in stages, and the stage each of them runs in."""
        return {
            uid: number
            for number, heads in enumerate(self.stages, start=1)
            for uid in self._reached(heads)
        }

    def runs_in(self, uid: str) -> int:
        """The stage that an operator or source runs in; 0 is the ingress."""
        return self.hosted.get(uid, 0)

    def _reached(self, heads: Iterable[str]) -> set[str]:
        """``heads``, and all that is chained to them."""
        found: set[str] = set()
        ahead = list(heads)
        while ahead:
            uid = ahead.pop()
            if uid not in found:
                found.add(uid)
                ahead.extend(_chained_to(self.operators[uid]))
        return found

    @property
    def degrees(self) -> dict[str, int]:
        """The parallelism of the operators that run in stages."""
        return {uid: self.operators[uid].parallelism for uid in sorted(self.hosted)}

    def stage_of(self, uid: str) -> int:
        """The number of the stage whose hosts receive records for ``uid``."""
        for number, heads in enumerate(self.stages, start=1):
            if uid in heads:
                return number
        raise KeyError(uid)


def _chained_to(spec: OperatorSpec | SourceSpec) -> list[str]:
    """The operators that run in the same task, on the batches of ``spec``."""
    wires = [spec.outputs, *spec.side_outputs.values()]
    return [wire.target for part in wires for wire in part if wire.partitioning is None]
