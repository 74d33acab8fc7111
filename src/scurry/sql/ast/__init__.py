"""The syntax tree of Flink's SQL: frozen nodes, each with the span of its text.

Nodes are what was written, not what it means: names are not looked up and nothing has a type. Two
trees are equal if they say the same, wherever in whatever text they stand. The Table API builds the
same expression nodes from Python; their spans then name the user's file and line.

=============================================  ====================================================
:mod:`~scurry.sql.ast.node`                    what all nodes have; names
:mod:`~scurry.sql.ast.data_types`              data types
:mod:`~scurry.sql.ast.expressions`             expressions, :mod:`~scurry.sql.ast.json_functions`
:mod:`~scurry.sql.ast.queries`                 queries, :mod:`~scurry.sql.ast.matching`
:mod:`~scurry.sql.ast.table_definitions`       CREATE TABLE and its parts
:mod:`~scurry.sql.ast.objects`                 CREATE and DROP of everything else
:mod:`~scurry.sql.ast.alterations`             ALTER
:mod:`~scurry.sql.ast.statements`              all other statements
=============================================  ====================================================
"""

from __future__ import annotations

from scurry.sql.ast.alterations import *  # noqa: F403
from scurry.sql.ast.data_types import *  # noqa: F403
from scurry.sql.ast.expressions import *  # noqa: F403
from scurry.sql.ast.json_functions import *  # noqa: F403
from scurry.sql.ast.matching import *  # noqa: F403
from scurry.sql.ast.node import *  # noqa: F403
from scurry.sql.ast.objects import *  # noqa: F403
from scurry.sql.ast.queries import *  # noqa: F403
from scurry.sql.ast.statements import *  # noqa: F403
from scurry.sql.ast.table_definitions import *  # noqa: F403
