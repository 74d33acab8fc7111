"""MATCH_RECOGNIZE."""

from __future__ import annotations

from scurry.sql.ast import matching as ast
from scurry.sql.ast.queries import Aliased, Join, Sampled
from scurry.sql.unparse.writer import commas, optional, unparse, when, words, writes


@writes(ast.MatchRecognize)
def _match(node: ast.MatchRecognize) -> str:
    start, end = when(node.anchored_start, "^ "), when(node.anchored_end, " $")
    inside = words(
        when(node.partition_by, f"PARTITION BY {commas(node.partition_by)}"),
        when(node.order_by, f"ORDER BY {commas(node.order_by)}"),
        when(node.measures, f"MEASURES {commas(node.measures)}"),
        node.rows,
        "" if node.after is None else unparse(node.after),
        f"PATTERN ({start}{_bare(node.pattern)}{end})",
        optional("WITHIN", node.within),
        when(node.subsets, f"SUBSET {commas(node.subsets)}"),
        f"DEFINE {commas(node.definitions)}",
    )
    relation = unparse(node.relation)
    if isinstance(node.relation, Join | Aliased | Sampled | ast.MatchRecognize):
        relation = f"({relation})"
    return f"{relation} MATCH_RECOGNIZE ({inside})"


@writes(ast.Measure)
def _measure(node: ast.Measure) -> str:
    return f"{unparse(node.expression)} AS {unparse(node.name)}"


@writes(ast.PatternDefinition)
def _definition(node: ast.PatternDefinition) -> str:
    return f"{unparse(node.name)} AS {unparse(node.condition)}"


@writes(ast.PatternSubset)
def _subset(node: ast.PatternSubset) -> str:
    return f"{unparse(node.name)} = ({commas(node.variables)})"


@writes(ast.AfterMatch)
def _after(node: ast.AfterMatch) -> str:
    if node.kind == "PAST LAST ROW":
        return "AFTER MATCH SKIP PAST LAST ROW"
    variable = "" if node.variable is None else unparse(node.variable)
    return words("AFTER MATCH SKIP TO", node.kind, variable)


@writes(ast.PatternVariable)
def _variable(node: ast.PatternVariable) -> str:
    return unparse(node.name)


def _bare(node: ast.Pattern) -> str:
    """A pattern without parentheses of its own."""
    if isinstance(node, ast.PatternGroup) and node.kind in ("SEQUENCE", "ALTERNATIVES"):
        between = " " if node.kind == "SEQUENCE" else " | "
        return between.join(map(unparse, node.items))
    return unparse(node)


@writes(ast.PatternGroup)
def _group(node: ast.PatternGroup) -> str:
    if node.kind == "PERMUTE":
        return f"PERMUTE({', '.join(map(_bare, node.items))})"
    if node.kind == "EXCLUSION":
        return f"{{- {_bare(node.items[0])} -}}"
    return f"({_bare(node)})"


@writes(ast.PatternRepetition)
def _repetition(node: ast.PatternRepetition) -> str:
    item = unparse(node.item)
    if isinstance(node.item, ast.PatternRepetition):
        item = f"({item})"
    most = "" if node.most is None else str(node.most)
    return f"{item}{{{node.least},{most}}}{when(node.reluctant, '?')}"
