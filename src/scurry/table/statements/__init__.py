"""Statements executed: from the syntax tree to what it changes, shows or starts.

Each kind of statement is a function in one of the modules here, found by the class of its node in
:data:`EXECUTORS`. Statements of Flink's that Scurry does not execute are in the table
:mod:`scurry.table.statements.gaps`, which also says what to do instead.
"""

from __future__ import annotations

from scurry.table.statements.alterations import ALTERED
from scurry.table.statements.execution import EXECUTORS, execute, explain
from scurry.table.statements.showing import SHOWN

__all__ = ["ALTERED", "EXECUTORS", "SHOWN", "execute", "explain"]
