"""``explain()``: the job as a text, a tree with a source at each root and sinks at the ends.

It says of each operator whether it works on columns or on rows (:mod:`scurry.compile.forms`).

Read it from the top: a source, the operators chained to it, and where records hop to a later stage,
each with its stage and uid. An operator that several streams reach is drawn once, and
referred to afterwards.
"""

from __future__ import annotations

import json

from scurry.common.changelog import ChangelogMode
from scurry.compile.forms import Form
from scurry.compile.job import CompiledJob
from scurry.compile.stages import Edge
from scurry.functions.dead_letters import DEAD_LETTER
from scurry.functions.sink import AT_LEAST_ONCE, EXACTLY_ONCE
from scurry.plan.nodes import Operator, Sink, Source

_WHY = (
    'Operators marked "keeps state" are found again after a restart by their uid, and an automatic '
    "uid may change when the program does: give each a uid of its own, .uid('a name')."
)


def explain(job: CompiledJob) -> str:
    """A plain-text picture of ``job``."""
    stages = len(job.spec.stages)
    lines = [
        f"Job {job.spec.name!r}: {_plural(len(job.spec.sources), 'source')}, "
        f"{_plural(stages, 'stage')}, parallelism {job.spec.parallelism}, "
        f"{job.spec.max_parallelism} key groups; {job.spec.engine} engine; output: {_promise(job)}"
    ]
    drawing = _Drawing(job, lines)
    for node in job.graph.operators:
        if isinstance(node, Source):
            drawing.draw(node)
    if any(_unnamed(node) for node in job.graph.operators):
        lines.append(_WHY)
    return "\n".join(lines)


def _unnamed(node: Operator) -> bool:
    """Whether an operator keeps something under a uid that the user did not choose."""
    return node.stateful and node.uid is None


def describe_plan(job: CompiledJob) -> str:
    """``job`` as JSON, for programs."""
    described = []
    forms = job.forms
    for node in job.graph.operators:
        incoming = [edge for edge in job.layout.edges if edge.consumer is node]
        described.append(
            {
                "id": job.uids[node],
                "type": node.name,
                "stateful": node.stateful,
                "stage": job.layout.places[node],
                "state": job.chosen[node].layout.kind if node.stateful else "",
                "works_on": forms[node].works_on,
                "made_of": forms[node].made_of,
                "reason": forms[node].reason,
                "schema": _columns(node),
                "changelog": None if node.changelog is None else node.changelog.value,
                "parallelism": job.layout.parallelism[node],
                "predecessors": [
                    {
                        "id": job.uids[edge.producer],
                        "side_output": edge.tag,
                        "input": edge.port,
                        "ship_strategy": _way(edge),
                    }
                    for edge in incoming
                ],
            }
        )
    spec = job.spec
    whole = {
        "name": spec.name,
        "guarantee": spec.guarantee,
        "engine": spec.engine,
        "nodes": described,
    }
    return json.dumps(whole, indent=2)


class _Drawing:
    """One picture: its lines so far, and the operators that are in it."""

    def __init__(self, job: CompiledJob, lines: list[str]) -> None:
        self._job = job
        self._lines = lines
        self._forms = job.forms
        self._drawn: set[Operator] = set()
        self._onward: dict[Operator, list[Edge]] = {}
        for edge in job.layout.edges:
            self._onward.setdefault(edge.producer, []).append(edge)

    def draw(self, source: Operator) -> None:
        """Add a source and all that it feeds, depth first, however long the chains are."""
        pending: list[tuple[Operator, Edge | None, str]] = [(source, None, "")]
        while pending:
            node, edge, indent = pending.pop()
            again = " (see above)" if node in self._drawn else ""
            described = _describe(self._job, node, self._forms[node])
            self._lines.append(f"{indent}{_arrow(edge)}{described}{again}")
            if not again:
                self._drawn.add(node)
                below = [(e.consumer, e, indent + "   ") for e in self._onward.get(node, ())]
                pending.extend(reversed(below))


def _arrow(edge: Edge | None) -> str:
    if edge is None:
        return ""
    tag = "" if edge.tag is None else f"[side output {edge.tag!r}] "
    if edge.consumer.input_count > 1:
        tag += f"[input {edge.port + 1}] "
    return f"+- {tag}" if edge.partitioning is None else f"+= {_way(edge)} => {tag}"


def _way(edge: Edge) -> str:
    """How records get from the producer to the consumer, in words."""
    if edge.partitioning is None:
        return "chained"
    return f"{edge.partitioning.name}, combined first" if edge.combiner else edge.partitioning.name


def _describe(job: CompiledJob, node: Operator, form: Form) -> str:
    place = job.layout.places[node]
    where = f"stage {place}" if place else "ingress"
    uid = job.uids[node]
    parts = [
        f"{node.name}  (uid {uid}{'' if node.uid else ', automatic'}"
        f"{', keeps state: call .uid(...)' if _unnamed(node) else ''}; {where}; "
        f"{form}; "
        f"parallelism {job.layout.parallelism[node]}"
    ]
    if node.changelog not in (None, ChangelogMode.INSERT_ONLY):
        parts.append(f"; sends changes: {node.changelog.value}")
    if node.on_error == DEAD_LETTER:
        parts.append("; on error: dead letter")
    if isinstance(node, Sink):
        manner = node.sink.manner and f", {node.sink.manner}"
        parts.append(f"; {node.sink.guarantee_in(job.spec.guarantee)}{manner}")
    return "".join(parts) + ")"


def _columns(node: Operator) -> dict[str, str] | None:
    """The columns of what an operator sends, if known."""
    return None if node.schema is None else {field.name: str(field.type) for field in node.schema}


def _promise(job: CompiledJob) -> str:
    """What the job promises, and which sinks cannot keep it."""
    promised = job.spec.guarantee
    if promised == AT_LEAST_ONCE:
        return f"{AT_LEAST_ONCE} (state: {EXACTLY_ONCE})"
    weaker = [node.name for node in job.graph.sinks if node.sink.guarantee_in(promised) != promised]
    return f"{promised} except {', '.join(weaker)}" if weaker else promised


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
