"""EXPLAIN: the tree after all passes, a line for each node, as Flink shows it."""

from __future__ import annotations

from scurry.planner.algebra import Node
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
    """The plan of a query as text. With ``changelog`` each line says which kinds of changes the
    node sends; ``update_before`` says whether the reader of the query wants old rows."""
    found = optimise(node, options)
    needs = Needs()
    needs.require(found, update_before)
    lines: list[str] = []
    _write(found, 0, lines, needs if changelog else None)
    return "\n".join(["== Optimized Physical Plan ==", *lines, ""])


def _write(node: Node, depth: int, lines: list[str], needs: Needs | None) -> None:
    kinds = "" if needs is None else f", changelogMode=[{_kinds(node, needs)}]"
    text = describe(node)
    if kinds:
        text = f"{text[:-1]}{kinds})" if text.endswith(")") else f"{text}({kinds[2:]})"
    lines.append(f"{'   ' * (depth - 1)}{'+- ' if depth else ''}{text}")
    for source in node.inputs:
        _write(source, depth + 1, lines, needs)


def _kinds(node: Node, needs: Needs) -> str:
    changes = changes_of(node)
    kinds = ["I"]
    if changes.updates:
        kinds += ["UB", "UA"] if needs.update_before(node) else ["UA"]
    if changes.deletes:
        kinds.append("D")
    return ",".join(kinds)
