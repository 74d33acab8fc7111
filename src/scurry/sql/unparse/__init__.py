"""Trees back to text: :func:`unparse` gives a text that parses to an equal tree.

Views keep their query as such a text, and messages quote expressions with it. Parentheses are put
where the precedence of operators asks for them, names in backticks where they are not plain or are
words of the grammar. Comments and the layout of the original are lost.
"""

from __future__ import annotations

from scurry.sql.unparse import expressions, json_functions, matching, queries, session, statements
from scurry.sql.unparse import tables as tables
from scurry.sql.unparse.writer import quoted, unparse, unparse_with_backticks

__all__ = ["quoted", "unparse", "unparse_with_backticks"]

#: the modules whose import fills the table of writers
_PARTS = (expressions, json_functions, matching, queries, session, statements, tables)
