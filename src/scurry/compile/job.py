"""Compiling a graph into a job: check it, name its operators, lay it out, wire it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from scurry.common.errors import ConfigurationError, ProgramError
from scurry.common.options.execution import MICRO_BATCH
from scurry.compile.checks import check_program
from scurry.compile.choose_operators import PhysicalOperator, choose_operators
from scurry.compile.combining import with_combiners
from scurry.compile.forms import Form, find_forms
from scurry.compile.poison import route_dead_letters
from scurry.compile.stages import Layout, lay_out
from scurry.compile.uids import Naming, assign_uids, fingerprint
from scurry.engine.histories import JobSink
from scurry.engine.job import Job
from scurry.functions.dead_letters import DEAD_LETTER, FAIL
from scurry.functions.history import REFUSE, TRUNCATE
from scurry.functions.sink import EXACTLY_ONCE
from scurry.plan.graph import Graph
from scurry.plan.nodes import Node, Operator, Sink, Source, Timestamps
from scurry.runtime.event_time import mark_cell
from scurry.runtime.specs import Alignment, JobSpec, OperatorSpec, SourceSpec, Wire
from scurry.state.backends import StateSettings
from scurry.state.inventory import Inventory, OperatorRecord


@dataclass(frozen=True)
class Settings:
    """What the environment and its configuration say about a job."""

    parallelism: int
    max_parallelism: int = 128
    parameters: Mapping[str, str] = field(default_factory=dict)
    chaining: bool = True
    #: STREAMING, BATCH, or AUTOMATIC: batch if all sources are bounded
    mode: str = "STREAMING"
    state: StateSettings = field(default_factory=StateSettings)
    #: whether what can run on whole columns does
    vectorised: bool = True
    #: whether what can be combined before it travels is
    combining: bool = True
    #: what is promised about output: exactly-once or at-least-once
    guarantee: str = EXACTLY_ONCE
    #: what happens to an element on which a user function raises
    on_error: str = FAIL
    #: what happens when a sink has committed batches that the checkpoint does not know
    on_other_history: str = REFUSE
    #: whether functions hand on their very objects, without copies
    object_reuse: bool = False
    #: whether operators without a uid get one
    generated_uids: bool = True
    #: what executes the job
    engine: str = MICRO_BATCH
    #: milliseconds between two commits of sinks, where the engine makes checkpoints at an interval
    interval: int | None = None


@dataclass(frozen=True)
class CompiledJob:
    """A job ready to be run by an engine, and the plan it came from, for showing."""

    graph: Graph
    layout: Layout
    uids: Mapping[Node, str]
    spec: JobSpec
    #: what runs each operator, and how that lays out its state
    chosen: Mapping[Operator, PhysicalOperator]
    on_other_history: str = REFUSE
    #: compiles the program again, with another parallelism
    with_parallelism: Callable[[int], JobSpec] | None = None

    @property
    def runnable(self) -> Job:
        """What an engine needs of it."""
        return Job(self.spec, self.sinks, self.with_parallelism)

    @property
    def sinks(self) -> tuple[JobSink, ...]:
        """All sinks of the job."""
        return tuple(
            JobSink(
                self.uids[node],
                node.name,
                node.location,
                node.sink,
                node.on_other_history or self.on_other_history,
            )
            for node in self.graph.sinks
        )

    @property
    def forms(self) -> Mapping[Operator, Form]:
        """Whether each operator works on columns or on rows."""
        return find_forms(self.graph, self.layout, self.chosen)


def compile_job(graph: Graph, settings: Settings) -> CompiledJob:
    """The job that runs ``graph``."""

    def with_parallelism(parallelism: int, program: Graph = graph) -> JobSpec:
        return compile_job(program, replace(settings, parallelism=parallelism)).spec

    graph = route_dead_letters(graph, settings.on_error)
    batch = _is_batch(graph, settings.mode)
    check_program(graph, settings.max_parallelism, settings.generated_uids)
    _check_histories(graph)
    _tell_interval(graph, settings.interval)
    naming = assign_uids(graph)
    uids = naming.uids
    layout = lay_out(graph, settings.parallelism, settings.chaining)
    chosen = choose_operators(graph.operators, settings.vectorised)
    if settings.combining:
        layout = with_combiners(layout, graph, chosen)
    wires = _wire(layout, uids)
    sources = []
    operators = {}
    for node in graph.operators:
        main, side = wires.get(node, {}).get(None, ()), _side(wires.get(node, {}))
        make = chosen[node].make
        if isinstance(node, Source):
            node.source.take_engine(settings.engine)
            sources.append(_source_spec(node, uids[node], layout, tuple(main), side))
        elif make is not None:
            operators[uids[node]] = OperatorSpec(
                uid=uids[node],
                name=node.name,
                make=make,
                location=node.location,
                parallelism=layout.parallelism[node],
                type_info=node.type_info if node.declared else None,
                outputs=tuple(main),
                side_outputs=side,
                dead_letters=node.on_error == DEAD_LETTER,
                batch=batch,
            )
    slots = max(
        (layout.parallelism[head] for heads in layout.stages for head in heads),
        default=settings.parallelism,
    )
    # where channels meet, records need a place to be merged by
    hops = Counter(edge.consumer for edge in layout.edges if edge.partitioning is not None)
    ordered = (
        len(layout.stages) > 1
        or any(node.gives_time for node in graph.nodes)
        or any(count > 1 for count in hops.values())
    )
    spec = JobSpec(
        name=graph.name,
        run_id="",
        parallelism=slots,
        max_parallelism=settings.max_parallelism,
        sources=tuple(sources),
        operators=operators,
        stages=tuple(tuple(uids[head] for head in heads) for heads in layout.stages),
        parameters=dict(settings.parameters),
        ordered=ordered,
        alignment=_alignment(graph, uids),
        guarantee=settings.guarantee,
        state=settings.state,
        inventory=_inventory(graph, naming, chosen),
        object_reuse=settings.object_reuse,
        engine=settings.engine,
    )
    return CompiledJob(
        *(graph, layout, uids, spec, chosen, settings.on_other_history, with_parallelism)
    )


def _check_histories(graph: Graph) -> None:
    for node in graph.nodes:
        if isinstance(node, Sink) and node.on_other_history == TRUNCATE:
            cannot = node.sink.why_not_truncate()
            if cannot:
                raise ProgramError(
                    f"on_other_history('truncate') at the sink {node.name!r} ({node.location}) "
                    f"cannot be done: {cannot}"
                )


def _tell_interval(graph: Graph, interval: int | None) -> None:
    for node in graph.nodes:
        if isinstance(node, Sink) and interval is not None:
            try:
                node.sink.take_interval(interval)
            except ConfigurationError as refusal:
                where = f"\n  in the sink {node.name!r} ({node.location})"
                raise ConfigurationError(f"{refusal}{where}") from None


def _inventory(
    graph: Graph, naming: Naming, chosen: Mapping[Operator, PhysicalOperator]
) -> Inventory:
    """Which operators keep something from one micro-batch to the next."""
    return {
        naming.uids[node]: OperatorRecord(
            layout=chosen[node].layout,
            name=node.name,
            location=node.location,
            family=naming.families.get(node, ""),
            fingerprint=fingerprint(node),
            states=_kept_outside(node),
        )
        for node in graph.operators
        if node.stateful
    }


def _kept_outside(node: Operator) -> dict[str, str]:
    """What a sink will write later, and keeps somewhere else than in the checkpoint."""
    kept = node.sink.keeps_back if isinstance(node, Sink) else ""
    return {kept: ""} if kept else {}


def _is_batch(graph: Graph, mode: str) -> bool:
    endless = [n for n in graph.nodes if isinstance(n, Source) and not n.source.bounded]
    if mode == "BATCH" and endless:
        raise ProgramError(
            f"Batch execution needs bounded sources, and {endless[0].name!r} "
            f"({endless[0].location}) has no end. Use RuntimeExecutionMode.STREAMING."
        )
    return mode == "BATCH" or (mode == "AUTOMATIC" and not endless)


def _alignment(graph: Graph, uids: Mapping[Node, str]) -> dict[str, Alignment]:
    """The sources that belong to an alignment group."""
    found = {}
    for node in graph.nodes:
        if isinstance(node, Timestamps) and node.strategy.alignment is not None:
            source = node.inputs[0]
            if not isinstance(source, Source):
                raise ProgramError(
                    f"{node.name!r} ({node.location}) uses with_watermark_alignment, which can "
                    "only hold back a source: pass the strategy to from_source(...)."
                )
            group, drift, _ = node.strategy.alignment
            found[uids[source]] = Alignment(group, drift, mark_cell(uids[node]))
    return found


Outgoing = dict[str | None, list[Wire]]


def _wire(layout: Layout, uids: Mapping[Node, str]) -> dict[Operator, Outgoing]:
    wires: dict[Operator, Outgoing] = {}
    for edge in layout.edges:
        outgoing = wires.setdefault(edge.producer, {}).setdefault(edge.tag, [])
        outgoing.append(Wire(uids[edge.consumer], edge.port, edge.partitioning, edge.combiner))
    return wires


def _side(outgoing: Outgoing) -> dict[str, tuple[Wire, ...]]:
    return {tag: tuple(wires) for tag, wires in outgoing.items() if tag is not None}


def _source_spec(
    node: Source,
    uid: str,
    layout: Layout,
    outputs: tuple[Wire, ...],
    side_outputs: Mapping[str, tuple[Wire, ...]],
) -> SourceSpec:
    return SourceSpec(
        uid=uid,
        name=node.name,
        source=node.source,
        tasks=layout.parallelism[node],
        outputs=outputs,
        type_info=node.type_info,
        side_outputs=side_outputs,
    )
