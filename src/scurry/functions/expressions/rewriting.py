"""Questions about trees, and trees made from trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scurry.functions.expressions.trees import Call, Expression, InputRef, Literal

__all__ = ["conjuncts", "is_constant", "is_deterministic", "references", "remap", "rewrite"]


def references(tree: Expression) -> frozenset[int]:
    """The positions of the input's columns that the tree reads."""
    return frozenset(node.index for node in tree.walk() if isinstance(node, InputRef))


def is_deterministic(tree: Expression) -> bool:
    """Whether the same input row always gives the same value."""
    return all(node.deterministic for node in tree.walk())


def is_constant(tree: Expression) -> bool:
    """Whether the tree has one value for all rows: it reads no column, and draws no lots."""
    return isinstance(tree, Literal) or (is_deterministic(tree) and not references(tree))


def conjuncts(condition: Expression | None) -> list[Expression]:
    """The conditions that AND connects."""
    if condition is None:
        return []
    if isinstance(condition, Call) and condition.function == "AND":
        return [part for operand in condition.operands for part in conjuncts(operand)]
    return [condition]


def rewrite(tree: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The tree with `change` applied to every node, the lowest first."""
    operands = tuple(rewrite(operand, change) for operand in tree.operands)
    return change(tree if operands == tree.operands else tree.with_operands(operands))


def remap(tree: Expression, positions: Mapping[int, int]) -> Expression:
    """The tree over an input whose columns have moved: from each key to its value."""
    return rewrite(
        tree,
        lambda node: (
            InputRef(positions[node.index], node.type, span=node.span)
            if isinstance(node, InputRef)
            else node
        ),
    )
