"""From syntax trees to plan nodes.

The way of a query, each step a module:

1. ``bind`` looks up names in a catalogue, types expressions, checks grouping, and gives a tree of
   :mod:`~scurry.planner.algebra`;
2. passes rewrite the tree, each a file with one verb;
3. ``lower`` makes :mod:`scurry.plan` nodes of it, with row kinds and uids.

For whoever builds a front end (the Table API, statements), this is all there is to know::

    node = bind_query(ast_of_the_query, catalog)        # a tree of the algebra
    planned = plan_query(node, PlannerOptions(...))     # planned.node is a scurry.plan node
    sink = plan_insert(node, table, options)            # a scurry.plan node that writes
    print(explain(node, changelog=True))

``catalog`` is anything with the methods of :class:`scurry.planner.catalog.Catalog`. It answers
with a :class:`~scurry.planner.catalog.Table` (columns, computed columns, watermark, primary key,
and an object that makes the plan node that reads it), with a
:class:`~scurry.planner.catalog.View` (a query), or with a tree of the algebra as it is: that is
what ``Table`` objects of a program, and DataStreams, are.

Errors are :class:`~scurry.planner.errors.SqlValidationError` for queries that mean nothing, and
:class:`~scurry.planner.errors.SqlNotSupportedError` for those that Scurry cannot run; both show the
place in the text.
"""

from __future__ import annotations
