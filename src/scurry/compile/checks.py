"""Checks of a program before a job is built, so that mistakes show before a record is read."""

from __future__ import annotations

from scurry.common.changelog import ChangelogMode
from scurry.common.errors import ProgramError
from scurry.plan.graph import Graph
from scurry.plan.nodes import KeyBy, Node, Partition, SideOutput, Sink, Source


def check_program(graph: Graph, max_parallelism: int, generated_uids: bool = True) -> Graph:
    """Raise :class:`ProgramError` for a program that cannot run; return it unchanged."""
    if not graph.sinks:
        raise ProgramError(
            f"The job {graph.name!r} has no sink, so nothing would come of it. End at least one "
            "stream with print(), sink_to(...) or execute_and_collect()."
        )
    _check_uids(graph)
    if not generated_uids:
        _check_that_all_have_uids(graph)
    _check_sinks(graph)
    for node in graph.nodes:
        _check_parallelism(node, max_parallelism)
        if not all(isinstance(source, KeyBy) for source in node.inputs[: node.keyed_inputs]):
            raise ProgramError(
                f"{node.name!r} ({node.location}) needs a keyed stream: call key_by(...) before it."
            )
        if isinstance(node, SideOutput):
            _check_side_output(node)
        if isinstance(node, Sink):
            _check_changes(node)
    return graph


def _check_changes(node: Sink) -> None:
    """A sink that only inserts has no use for deletions and updates."""
    mode = node.inputs[0].changelog
    if node.sink.insertions_only and mode not in (None, ChangelogMode.INSERT_ONLY):
        source = node.inputs[0]
        raise ProgramError(
            f"The sink {node.name!r} ({node.location}) only inserts, and {source.name!r} "
            f"({source.location}) sends updates and deletions (changelog mode {mode.value!r}). "
            "Use a sink that knows the key of the table, such as PostgresSink.upsert."
        )


def _check_side_output(node: SideOutput) -> None:
    producer = node.inputs[0]
    if isinstance(producer, Source) and producer.source.side_outputs:
        offered = [tag.tag_id for tag in producer.source.side_outputs]
        if node.tag not in offered:
            raise ProgramError(
                f"get_side_output({node.tag!r}) at {node.location} was called on "
                f"{producer.name!r}, whose side outputs are {offered}."
            )
    elif isinstance(producer, (Source, KeyBy, Partition)):
        raise ProgramError(
            f"get_side_output({node.tag!r}) at {node.location} was called on {producer.name!r}, "
            "which has no side outputs; call it on the stream that process(...) returned."
        )


def _check_uids(graph: Graph) -> None:
    owners: dict[str, Node] = {}
    for node in graph.operators:
        if node.uid is None:
            continue
        other = owners.setdefault(node.uid, node)
        if other is not node:
            raise ProgramError(
                f"Two operators have the uid {node.uid!r}: {other.name!r} ({other.location}) and "
                f"{node.name!r} ({node.location}). A uid names an operator's state; give each "
                "operator its own."
            )


def _check_sinks(graph: Graph) -> None:
    owners: dict[int, Sink] = {}
    for node in graph.nodes:
        if isinstance(node, Sink):
            other = owners.setdefault(id(node.sink), node)
            if other is not node:
                raise ProgramError(
                    f"One {type(node.sink).__name__} object is the sink of two streams, "
                    f"{other.name!r} ({other.location}) and {node.name!r} ({node.location}). A "
                    "sink remembers which batches it has committed: make one for each stream, or "
                    "union the streams."
                )


def _check_that_all_have_uids(graph: Graph) -> None:
    for node in graph.operators:
        if node.uid is None:
            raise ProgramError(
                f"{node.name!r} ({node.location}) has no uid, and pipeline.auto-generate-uids is "
                "false: call uid(...), or leave automatic uids enabled."
            )


def _check_parallelism(node: Node, max_parallelism: int) -> None:
    if node.parallelism is not None and node.parallelism > max_parallelism:
        raise ProgramError(
            f"{node.name!r} ({node.location}) has parallelism {node.parallelism}, more than the "
            f"job's {max_parallelism} key groups. Lower it, or raise set_max_parallelism (which "
            "only a job without saved state can do)."
        )
    own = node.max_parallelism
    if node.parallelism is not None and own is not None and node.parallelism > own:
        raise ProgramError(
            f"{node.name!r} ({node.location}) has parallelism {node.parallelism}, more than its "
            f"own max parallelism, {own}."
        )
