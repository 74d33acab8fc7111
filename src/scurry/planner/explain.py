"""EXPLAIN: the tree as it was written and after all passes, a line for each node, under the
headings that Flink has for them. The names of nodes are Scurry's. Before optimisation, a query
within an expression is the first branch below its node."""

from __future__ import annotations

from scurry.planner.algebra import Node
from scurry.planner.bind.subqueries import subqueries_of
from scurry.planner.describe import describe
from scurry.planner.need_update_before import Needs
from scurry.planner.options import PlannerOptions
from scurry.planner.plan import optimise
from scurry.planner.traits import changes_of


def explain(
    node: Node,
    changelog: bool = False,
    update_before: bool = True,
    options: PlannerOptions | None = None,
) -> str:
    """The plans of a query as text, before and after optimisation. With ``changelog`` each line of
    the second says which kinds of changes the node sends; ``update_before`` says whether the reader
    of the query wants old rows."""
    found = optimise(node, options)
    needs = Needs()
    needs.require(found, update_before)
    lines: list[str] = []
    _write(found, 0, lines, needs if changelog else None)
    written: list[str] = []
    _write(node, 0, written, None)
    heads = ("== Abstract Syntax Tree ==", "== Optimized Physical Plan ==")
    return "\n".join([heads[0], *written, "", heads[1], *lines, ""])


def _write(node: Node, depth: int, lines: list[str], needs: Needs | None) -> None:
    kinds = "" if needs is None else f", changelogMode=[{_kinds(node, needs)}]"
    text = describe(node)
    if kinds:
        text = f"{text[:-1]}{kinds})" if text.endswith(")") else f"{text}({kinds[2:]})"
    lines.append(f"{'   ' * (depth - 1)}{'+- ' if depth else ''}{text}")
    for source in (*(one.query for one in subqueries_of(node)), *node.inputs):
        _write(source, depth + 1, lines, needs)


def _kinds(node: Node, needs: Needs) -> str:
    changes = changes_of(node)
    kinds = ["I"]
    if changes.updates:
        kinds += ["UB", "UA"] if needs.update_before(node) else ["UA"]
    if changes.deletes:
        kinds.append("D")
    return ",".join(kinds)
