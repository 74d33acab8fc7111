"""Flink's dialect of SQL as text and as trees: tokens, syntax trees, the parser, the unparser.

This package knows words and nothing else: which tables there are, what a function returns and how a
query runs is the business of :mod:`scurry.planner` and :mod:`scurry.table`, which build on it.
"""

from __future__ import annotations
