"""Binding: names get meanings, expressions get types, and a query becomes a tree of the algebra.

=========================================  ========================================================
:mod:`~scurry.planner.bind.scope`          which names there are at a place in a query
:mod:`~scurry.planner.bind.data_types`     written types to data types
:mod:`~scurry.planner.bind.literals`       constants
:mod:`~scurry.planner.bind.expressions`    expressions, :mod:`~scurry.planner.bind.calls` functions
:mod:`~scurry.planner.bind.relations`      what stands after FROM
:mod:`~scurry.planner.bind.grouping`       GROUP BY, aggregates, grouping sets, group windows
:mod:`~scurry.planner.bind.over`           OVER
:mod:`~scurry.planner.bind.queries`        SELECT, set operations, ORDER BY, WITH
=========================================  ========================================================
"""

from __future__ import annotations

from scurry.planner.algebra import Node
from scurry.planner.bind.queries import QueryBinder
from scurry.planner.catalog import Catalog
from scurry.sql import ast

__all__ = ["bind_query"]


def bind_query(query: ast.QueryNode, catalog: Catalog) -> Node:
    """The relation that a query means."""
    return QueryBinder(catalog).query(query)
