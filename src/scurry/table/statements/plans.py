"""COMPILE PLAN and EXECUTE PLAN: plans in files (:mod:`scurry.table.compiled_plan`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scurry.common.errors import ProgramError
from scurry.common.spans import located
from scurry.sql import ast
from scurry.table.compiled_plan import compile_pipelines, load_plan
from scurry.table.plan_reference import PlanReference
from scurry.table.statements.inserts import pipeline_of
from scurry.table.table_result import TableResult

if TYPE_CHECKING:
    from scurry.table.table_environment import TableEnvironment

__all__ = ["compile_plan", "execute_plan"]


def compile_plan(environment: TableEnvironment, statement: ast.CompilePlan) -> TableResult:
    """COMPILE PLAN of INSERTs into a file, and COMPILE AND EXECUTE PLAN, which takes the plan of
    the file if there is one."""
    path, inner = _path(statement.path), statement.statement
    if not (statement.execute and path.exists()):
        inserts = inner.statements if isinstance(inner, ast.StatementSet) else (inner,)
        pipelines = []
        for one in inserts:
            if not isinstance(one, ast.Insert):
                raise ProgramError(located("Only INSERTs can be compiled", one.span))
            pipelines.append(pipeline_of(environment, one))
        compile_pipelines(environment, pipelines).write_to_file(path, statement.if_not_exists)
    return _executed(environment, path) if statement.execute else TableResult.ok()


def execute_plan(environment: TableEnvironment, statement: ast.ExecutePlan) -> TableResult:
    """EXECUTE PLAN of a file."""
    return _executed(environment, _path(statement.path))


def _executed(environment: TableEnvironment, path: Path) -> TableResult:
    return load_plan(environment, PlanReference.from_file(path)).execute()


def _path(text: str) -> Path:
    return Path(text.removeprefix("file://"))
