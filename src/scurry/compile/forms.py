"""Which operators work on columns, and which on rows: what ``explain()`` says of each.

Records are held as Arrow columns or as Python objects, *rows*. An operator *works on columns* if it
handles a whole batch of them without calling Python for each record; one that calls a function of
the user's for each record works on rows. Where the two meet, records are converted: an operator
that works on rows and is sent columns has rows made of them first, and the other way round. That
costs about as much as the cheapest function, so it is worth knowing where it happens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from scurry.common.options.execution import VECTORISED
from scurry.common.watermark_strategy import FunctionTimestampAssigner
from scurry.compile.choose_operators import PhysicalOperator, fits_columns
from scurry.compile.stages import Layout
from scurry.functions.dead_letters import DEAD_LETTER
from scurry.plan.graph import Graph
from scurry.plan.nodes import Batches, Operator, Sink, Source, Timestamps, Window
from scurry.plan.relational import Relational
from scurry.runtime.selectors import picked_field

COLUMNS = "columns"
ROWS = "rows"


class Form(NamedTuple):
    """How an operator handles its records."""

    #: what it works on: COLUMNS or ROWS
    works_on: str
    #: what it is sent, if that is something else and is converted first
    made_of: str | None = None
    #: why it works on rows although operators of its kind can work on columns
    reason: str = ""

    def __str__(self) -> str:
        words = f"on {self.works_on}"
        if self.reason:
            words += f" because {self.reason}"
        return words if self.made_of is None else f"{words}, made of {self.made_of} first"


def find_forms(
    graph: Graph, layout: Layout, chosen: Mapping[Operator, PhysicalOperator]
) -> Mapping[Operator, Form]:
    """The form of every operator, given what was chosen to run it."""
    forms: dict[Operator, Form] = {}
    sends: dict[Operator, str] = {}
    for node in graph.operators:
        incoming = [edge for edge in layout.edges if edge.consumer is node]
        sent = {ROWS if edge.tag is not None else sends[edge.producer] for edge in incoming}
        given = COLUMNS if sent == {COLUMNS} else ROWS
        works_on, reason = _works_on(node, given, chosen[node].vectorised)
        made_of = given if incoming and given != works_on else None
        forms[node] = Form(works_on, made_of, reason)
        sends[node] = _sends(node, given, works_on)
    return forms


def _sends(node: Operator, given: str, works_on: str) -> str:
    """What an operator hands on."""
    if node.hands_on:
        # operators that try each record for dead letters take it out of its columns
        tried = node.on_error == DEAD_LETTER and not isinstance(node, Timestamps)
        return ROWS if tried else given
    # results of a declared type are checked one by one
    return ROWS if isinstance(node, Window) and node.declared else works_on


def _works_on(node: Operator, given: str, columns: bool) -> tuple[str, str]:
    """What an operator works on that is sent ``given``, and why that is rows, if it is a pity."""
    if isinstance(node, Source):
        return (COLUMNS if node.source.columnar else ROWS), ""
    if isinstance(node, Sink):
        return (COLUMNS if node.sink.columnar else ROWS), ""
    if isinstance(node, (Batches, Relational)):
        return COLUMNS, ""
    if isinstance(node, Timestamps):
        return _of_timestamps(node, given)
    if isinstance(node, Window) and node.windowing.built_in:
        if not fits_columns(node.windowing):
            return ROWS, "of its windows, trigger or evictor"
        return (COLUMNS, "") if columns else (ROWS, f"{VECTORISED.key} is false")
    return ROWS, ""


def _of_timestamps(node: Timestamps, given: str) -> tuple[str, str]:
    strategy = node.strategy
    if given == ROWS:
        return ROWS, ""
    if strategy.kind == "generator":
        return ROWS, "it asks a watermark generator after each"
    assigner = strategy.assigner
    if assigner is None:
        return COLUMNS, ""
    if node.on_error == DEAD_LETTER:
        return ROWS, "it tries each for dead letters"
    picks = isinstance(assigner, FunctionTimestampAssigner) and (
        picked_field(lambda element: assigner.extract_timestamp(element, 0)) is not None
    )
    return (COLUMNS, "") if picks else (ROWS, "its timestamp assigner does more than pick a field")
