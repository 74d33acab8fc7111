"""Casts that change nothing are left out, and casts of constants are constants.

A time attribute that is compared with a plain timestamp is cast only because their types differ in
being one; the values are the same.
"""

from __future__ import annotations

from scurry.functions.expressions import Call, Expression, InputRef, Literal, rewrite
from scurry.planner.algebra import Node
from scurry.planner.bind.values import as_type
from scurry.planner.expressions_of import with_expressions
from scurry.planner.rewrite import bottom_up
from scurry.planner.time_attributes import plain


def simplify_expressions(node: Node) -> Node:
    """The tree with simpler expressions of the same values."""
    return bottom_up(node, lambda one: with_expressions(one, simplified))


def simplified(tree: Expression) -> Expression:
    """An expression without needless casts."""
    return rewrite(tree, _simpler)


def _simpler(tree: Expression) -> Expression:
    if not isinstance(tree, Call) or tree.function != "CAST":
        return tree
    (inner,) = tree.operands
    if isinstance(inner, Literal):
        found = as_type(inner, tree.type)
        return found if isinstance(found, Literal) else tree
    same = plain(inner.type).nullable() == plain(tree.type).nullable()
    if same and isinstance(inner, InputRef):
        return InputRef(inner.index, tree.type, span=inner.span)
    return tree
