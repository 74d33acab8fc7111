"""Which function executes which statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from scurry.common.configuration import Configuration
from scurry.common.errors import NotSupportedError, ProgramError
from scurry.common.options import BY_KEY
from scurry.common.spans import located
from scurry.sql import ast
from scurry.table.catalog.objects import CatalogDatabase, CatalogFunction
from scurry.table.catalogs import load_function
from scurry.table.explain_detail import ExplainDetail
from scurry.table.module import CORE, CoreModule
from scurry.table.statements.alterations import alter
from scurry.table.statements.catalogs import create_catalog
from scurry.table.statements.gaps import GAPS, refuse
from scurry.table.statements.inserts import insert, pipeline_of, statement_set
from scurry.table.statements.models import create_model
from scurry.table.statements.places import placed
from scurry.table.statements.plans import compile_plan, execute_plan
from scurry.table.statements.results import listing
from scurry.table.statements.showing import describe, show
from scurry.table.statements.tables import create_table, create_view, drop, options_of
from scurry.table.table import Table
from scurry.table.table_result import TableResult

if TYPE_CHECKING:
    from scurry.table.table_environment import TableEnvironment

__all__ = ["EXECUTORS", "execute", "explain"]

Executor = Callable[["TableEnvironment", Any], TableResult]


def execute(environment: TableEnvironment, statement: ast.Statement) -> TableResult:
    """Do what a statement says."""
    gap = GAPS.get(type(statement))
    if gap is not None:
        raise refuse(statement, gap)
    pending = environment.pending_set
    if pending is not None and not isinstance(statement, ast.Insert | ast.EndStatementSet):
        raise ProgramError(
            located("Only INSERTs can stand between BEGIN STATEMENT SET and END", statement.span)
        )
    executor = EXECUTORS.get(type(statement))
    if executor is None:
        raise NotSupportedError(located("This statement is not executed", statement.span))
    with placed(statement):
        return executor(environment, statement)


def explain(
    environment: TableEnvironment, statement: ast.Statement, details: Sequence[ExplainDetail]
) -> str:
    """How a query or an INSERT would be run."""
    if isinstance(statement, ast.Explain):
        named = [_detail(one, statement) for one in statement.details]
        return explain(environment, statement.statement, [*details, *named])
    if isinstance(statement, ast.Execute):
        return explain(environment, statement.statement, details)
    if isinstance(statement, ast.QueryStatement):
        table = Table(environment, environment.bind(statement.query))
        return environment.explain_table(table, details)
    if isinstance(statement, ast.Insert):
        return environment.explain_pipelines([pipeline_of(environment, statement)], details)
    if isinstance(statement, ast.StatementSet):
        inserts = [
            pipeline_of(environment, one)
            for one in statement.statements
            if isinstance(one, ast.Insert)
        ]
        return environment.explain_pipelines(inserts, details)
    raise ProgramError(located("Only queries and INSERTs can be explained", statement.span))


def _detail(name: str, statement: ast.Explain) -> ExplainDetail:
    if name.upper() not in ExplainDetail.__members__:
        raise ProgramError(
            located(
                f"There is no detail {name}",
                statement.span,
                f"There is {', '.join(ExplainDetail.__members__)}.",
            )
        )
    return ExplainDetail[name.upper()]


def _query(environment: TableEnvironment, statement: ast.QueryStatement) -> TableResult:
    return environment.execute_table(Table(environment, environment.bind(statement.query)))


def _insert(environment: TableEnvironment, statement: ast.Insert) -> TableResult:
    if environment.pending_set is not None:
        environment.pending_set.append(pipeline_of(environment, statement))
        return TableResult.ok()
    return insert(environment, statement)


def _begin(environment: TableEnvironment, statement: ast.BeginStatementSet) -> TableResult:
    environment.pending_set = []
    return TableResult.ok()


def _end(environment: TableEnvironment, statement: ast.EndStatementSet) -> TableResult:
    pending, environment.pending_set = environment.pending_set, None
    if not pending:
        raise ProgramError(located("There is no statement set to end", statement.span))
    return environment.execute_pipelines(pending)


def _execute(environment: TableEnvironment, statement: ast.Execute) -> TableResult:
    return execute(environment, statement.statement)


def _explain(environment: TableEnvironment, statement: ast.Explain) -> TableResult:
    return TableResult.of_text(explain(environment, statement, ()))


def _create_database(environment: TableEnvironment, statement: ast.CreateDatabase) -> TableResult:
    catalog, name = environment.catalogs.database_names(statement.name.names)
    made = CatalogDatabase(options_of(statement.options), statement.comment)
    environment.catalogs.catalog(catalog).create_database(name, made, statement.if_not_exists)
    return TableResult.ok()


def _create_function(environment: TableEnvironment, statement: ast.CreateFunction) -> TableResult:
    if statement.language.upper() != "PYTHON":
        raise NotSupportedError(
            located(
                f"The function {statement.name} is in {statement.language or 'JAVA'}",
                statement.span,
                "Scurry runs functions in Python only: write it in Python, with LANGUAGE PYTHON.",
            )
        )
    function = CatalogFunction.create_instance(statement.identifier)
    catalogs, names = environment.catalogs, statement.name.names
    if statement.alter:
        identifier = catalogs.qualify(names)
        catalog = catalogs.catalog(identifier.catalog_name)
        load_function(function)
        catalog.alter_function(identifier.to_object_path(), function, statement.if_exists)
    elif statement.system:
        known = catalogs.find_function(names[-1:]) is not None
        if not (known and statement.if_not_exists):
            catalogs.create_system_function(names[-1], load_function(function))
    elif statement.temporary:
        known = catalogs.find_function(names) is not None
        if not (known and statement.if_not_exists):
            catalogs.create_temporary_function(names, load_function(function))
    else:
        catalogs.create_function(names, function, statement.if_not_exists)
    return TableResult.ok()


def _load_module(environment: TableEnvironment, statement: ast.LoadModule) -> TableResult:
    name = statement.name.name
    if name != CORE:
        raise ProgramError(
            located(
                f"There is no module {name!r} to load by name",
                statement.span,
                "A module of your own is loaded by the program: env.load_module(name, module).",
            )
        )
    environment.load_module(name, CoreModule())
    return TableResult.ok()


def _unload_module(environment: TableEnvironment, statement: ast.UnloadModule) -> TableResult:
    environment.unload_module(statement.name.name)
    return TableResult.ok()


def _use_modules(environment: TableEnvironment, statement: ast.UseModules) -> TableResult:
    environment.use_modules(*(one.name for one in statement.names))
    return TableResult.ok()


def _use_catalog(environment: TableEnvironment, statement: ast.UseCatalog) -> TableResult:
    environment.use_catalog(statement.name.name)
    return TableResult.ok()


def _use_database(environment: TableEnvironment, statement: ast.UseDatabase) -> TableResult:
    environment.catalogs.use_database(*statement.name.names)
    return TableResult.ok()


def _set(environment: TableEnvironment, statement: ast.SetOption) -> TableResult:
    config = environment.get_config()
    if statement.key is None or statement.value is None:
        return listing(["key", "value"], sorted(config.to_map().items()))
    config.set(statement.key, statement.value)
    return TableResult.ok()


def _reset(environment: TableEnvironment, statement: ast.ResetOption) -> TableResult:
    configuration = environment.get_config().get_configuration()
    if statement.key is not None:
        option = BY_KEY.get(statement.key)
        for key in (statement.key,) if option is None else option.keys:
            configuration.remove_config(key)
        return TableResult.ok()
    kept = Configuration(environment.settings_at_start)
    for key in list(configuration.key_set()):
        configuration.remove_config(key)
    configuration.add_all(kept)
    return TableResult.ok()


def _stop_job(environment: TableEnvironment, statement: ast.StopJob) -> TableResult:
    for job in environment.jobs.started:
        if str(job.client.get_job_id()) == statement.job.value:
            if statement.savepoint:
                path = job.client.stop_with_savepoint(statement.drain).result()
                return listing(["savepoint path"], [[path]])
            job.client.cancel().result()
            return TableResult.ok()
    raise ProgramError(
        located(f"There is no job {statement.job.value!r}", statement.job.span, "SHOW JOBS.")
    )


EXECUTORS: dict[type[ast.Statement], Executor] = {
    ast.QueryStatement: _query,
    ast.Insert: _insert,
    ast.StatementSet: statement_set,
    ast.BeginStatementSet: _begin,
    ast.EndStatementSet: _end,
    ast.Execute: _execute,
    ast.Explain: _explain,
    ast.CreateTable: create_table,
    ast.CreateView: create_view,
    ast.CreateDatabase: _create_database,
    ast.CreateCatalog: create_catalog,
    ast.CreateModel: create_model,
    ast.CompilePlan: compile_plan,
    ast.ExecutePlan: execute_plan,
    ast.CreateFunction: _create_function,
    ast.Drop: drop,
    ast.Alter: alter,
    ast.Show: show,
    ast.Describe: describe,
    ast.LoadModule: _load_module,
    ast.UnloadModule: _unload_module,
    ast.UseModules: _use_modules,
    ast.UseCatalog: _use_catalog,
    ast.UseDatabase: _use_database,
    ast.SetOption: _set,
    ast.ResetOption: _reset,
    ast.StopJob: _stop_job,
}
