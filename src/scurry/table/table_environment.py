"""Table environments: where programs with tables and SQL begin.

env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
env.execute_sql("CREATE TABLE orders (...) WITH ('connector' = 'kafka', ...)")
env.execute_sql("INSERT INTO totals SELECT user, SUM(price) FROM orders GROUP BY user")
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from scurry.common.configuration import Configuration
from scurry.common.data_types import DataType, RowType
from scurry.common.errors import ProgramError
from scurry.datastream.stream_execution_environment import StreamExecutionEnvironment
from scurry.planner.algebra import Node
from scurry.planner.bind import bind_query
from scurry.sql import ast
from scurry.sql.parser import parse_name, parse_query, parse_script, parse_statement
from scurry.sql.unparse import unparse
from scurry.table.catalog.contract import Catalog
from scurry.table.catalog.descriptor import CatalogDescriptor, make_catalog
from scurry.table.catalog.models import CatalogModel
from scurry.table.catalog.names import ObjectIdentifier
from scurry.table.catalog.objects import CatalogBaseTable, CatalogFunction, CatalogTable
from scurry.table.catalogs import Catalogs
from scurry.table.environment_extras import JavaFunctionMethods, ModelMethods, PlanMethods
from scurry.table.environment_settings import EnvironmentSettings
from scurry.table.explain_detail import ExplainDetail
from scurry.table.inline_tables import table_of_elements, table_of_frame
from scurry.table.jobs import Jobs
from scurry.table.module import Module, ModuleEntry
from scurry.table.relations import schema_of
from scurry.table.session_catalog import InlineView, SessionCatalog
from scurry.table.statement_set import StatementSet
from scurry.table.table import Table
from scurry.table.table_config import TableConfig
from scurry.table.table_descriptor import TableDescriptor
from scurry.table.table_pipeline import TablePipeline
from scurry.table.table_result import TableResult

if TYPE_CHECKING:
    import pandas as pd

    from scurry.table.stream_table_environment import StreamTableEnvironment

__all__ = ["StreamTableEnvironment", "TableEnvironment"]


class TableEnvironment(PlanMethods, ModelMethods, JavaFunctionMethods):
    """Catalogs, settings and jobs of one session; made with :meth:`create`."""

    def __init__(
        self, settings: EnvironmentSettings, environment: StreamExecutionEnvironment
    ) -> None:
        self._settings = settings
        self._environment = environment
        configuration = environment.get_configuration()
        configuration.add_all(settings.get_configuration())
        self._config = TableConfig(configuration)
        self._catalogs = Catalogs(
            settings.get_built_in_catalog_name(), settings.get_built_in_database_name()
        )
        self._session_catalog = SessionCatalog(
            self._catalogs, configuration, batch=not settings.is_streaming_mode()
        )
        self._jobs = Jobs(self)
        self._unnamed = 0
        self._temporary_models: dict[ObjectIdentifier, CatalogModel] = {}
        #: what RESET goes back to
        self.settings_at_start = Configuration(configuration)
        #: the INSERTs since BEGIN STATEMENT SET, None outside of a set
        self.pending_set: list[TablePipeline] | None = None

    @staticmethod
    def create(
        environment_settings: EnvironmentSettings | Configuration,
    ) -> TableEnvironment:
        """An environment of its own, on the active SparkSession or on a local one."""
        settings = _settings(environment_settings)
        return TableEnvironment(settings, StreamExecutionEnvironment.get_execution_environment())

    # --- what others in this package need

    @property
    def catalogs(self) -> Catalogs:
        """Everything that has a name."""
        return self._catalogs

    @property
    def session_catalog(self) -> SessionCatalog:
        """The catalogs as the planner sees them."""
        return self._session_catalog

    @property
    def jobs(self) -> Jobs:
        """What runs queries."""
        return self._jobs

    @property
    def stream_environment(self) -> StreamExecutionEnvironment:
        """The environment that jobs are built and run in."""
        return self._environment

    @property
    def streaming(self) -> bool:
        """Whether results change as their input comes."""
        return self._settings.is_streaming_mode()

    def bind(self, query: ast.QueryNode) -> Node:
        """The meaning of a query; raises if it has none."""
        return bind_query(query, self._session_catalog)

    def name_table(self, table: Table) -> str:
        """Give a table of the program's a name that SQL finds it by."""
        view = InlineView(schema_of(table.relation), node=table.relation)
        return self.add_unnamed(view).as_serializable_string()

    def bind_table_aggregate(self, prepared: Table, keys: Sequence[str], call: Any) -> Node:
        """The rows of a table aggregate function over groups."""
        return self._jobs.bind_table_aggregate(prepared, keys, call)

    def execute_table(self, table: Table) -> TableResult:
        """Run a query whose rows come here."""
        return self._jobs.collect(table)

    def collect_pandas(self, table: Table) -> pd.DataFrame:
        """Run a query to its end; the table that its changes amount to."""
        return self._jobs.to_pandas(table)

    def insert_target(self, path_or_descriptor: str | TableDescriptor) -> ObjectIdentifier:
        """The table that a query is to be written to."""
        if isinstance(path_or_descriptor, TableDescriptor):
            return self._anonymous(path_or_descriptor)
        if not isinstance(path_or_descriptor, str):
            raise ProgramError(
                "The target of an insert is the path of a table or a TableDescriptor, got "
                f"{path_or_descriptor!r}."
            )
        return self._catalogs.table(_path(path_or_descriptor)).identifier

    def _anonymous(self, descriptor: TableDescriptor) -> ObjectIdentifier:
        return self.add_unnamed(descriptor.to_catalog_table())

    def add_unnamed(self, table: CatalogBaseTable) -> ObjectIdentifier:
        """Give a table a temporary name of its own."""
        identifier = self._catalogs.qualify([f"UnnamedTable${self._unnamed}"])
        self._unnamed += 1
        self._catalogs.create_table(identifier, table, temporary=True)
        return identifier

    def execute_pipelines(self, pipelines: Sequence[TablePipeline]) -> TableResult:
        """Run INSERTs as one job."""
        return self._jobs.insert(pipelines)

    def attach_pipelines(self, pipelines: Sequence[TablePipeline]) -> None:
        """Let INSERTs run with the stream environment's next ``execute``."""
        for step in self._jobs.sink_steps(pipelines):
            self._environment.add_sink(step)

    def explain_table(self, table: Table, details: Sequence[ExplainDetail]) -> str:
        """How a query would be run."""
        return self._jobs.explain([table.relation], [], details)

    def explain_pipelines(
        self, pipelines: Sequence[TablePipeline], details: Sequence[ExplainDetail]
    ) -> str:
        """How INSERTs would be run."""
        return self._jobs.explain([], pipelines, details)

    def pipeline_of_sql(self, stmt: str) -> TablePipeline:
        """The query and the target of an INSERT statement."""
        from scurry.table.statements.inserts import pipeline_of

        statement = parse_statement(stmt)
        if not isinstance(statement, ast.Insert):
            raise ProgramError(f"add_insert_sql takes an INSERT statement, got: {stmt}")
        return pipeline_of(self, statement)

    # --- SQL

    def execute_sql(self, stmt: str) -> TableResult:
        """Execute one statement. A query or an INSERT starts a job and returns at once."""
        from scurry.table.statements import execute

        return execute(self, parse_statement(_text("execute_sql", stmt)))

    def execute_script(self, script: str) -> list[TableResult]:
        """Execute statements with semicolons between them, one after the other; a job of an INSERT
        that is not the last is waited for."""
        from scurry.table.statements import execute

        return [execute(self, one) for one in parse_script(_text("execute_script", script))]

    def sql_query(self, query: str) -> Table:
        """The table of a query, which is not run yet."""
        parsed = parse_query(_text("sql_query", query))
        table = Table(self, self.bind(parsed))
        table.sql = unparse(parsed)
        return table

    def explain_sql(self, stmt: str, *extra_details: ExplainDetail) -> str:
        """How a query or an INSERT would be run."""
        from scurry.table.statements import explain

        return explain(self, parse_statement(_text("explain_sql", stmt)), extra_details)

    def create_statement_set(self) -> StatementSet:
        """A set of INSERTs that run as one job."""
        return StatementSet(self)

    # --- tables

    def from_path(self, path: str) -> Table:
        """A table or view of a catalog."""
        names = _path(path)
        found = self._catalogs.table(names)
        name = ast.Name(tuple(map(ast.Identifier, names)))
        select = ast.Select((ast.SelectItem(ast.Star()),), ast.TableRef(name))
        table = Table(self, self.bind(ast.Query(select)))
        if isinstance(found.table, CatalogTable):
            table.declared = found.table.schema
        return table

    def from_descriptor(self, descriptor: TableDescriptor) -> Table:
        """A table that has no name."""
        if not isinstance(descriptor, TableDescriptor):
            raise ProgramError(f"from_descriptor takes a TableDescriptor, got {descriptor!r}.")
        identifier = self._anonymous(descriptor)
        return self.from_path(identifier.as_serializable_string())

    def from_elements(
        self,
        elements: Iterable[Any],
        schema: DataType | Sequence[str] | None = None,
        verify_schema: bool = True,
    ) -> Table:
        """A table of rows that the program has; the schema is a ROW type, or the names of the
        columns, whose types are then those of the values."""
        table = table_of_elements(elements, schema)
        return self._inline(table)

    def from_pandas(
        self,
        pdf: pd.DataFrame,
        schema: RowType | Sequence[str] | Sequence[DataType] | None = None,
        splits_num: int = 1,
    ) -> Table:
        """A table of the rows of a DataFrame."""
        return self._inline(table_of_frame(pdf, schema))

    def _inline(self, table: Any) -> Table:
        return self.from_path(self.add_unnamed(table).as_serializable_string())

    def create_temporary_view(self, view_path: str, table_or_data_stream: Any, *args: Any) -> None:
        """Give a Table, or here only a Table, a name for as long as the environment lives."""
        self._create_view(view_path, table_or_data_stream)

    def create_view(self, view_path: str, table: Table, ignore_if_exists: bool = False) -> bool:
        """The same; a Table of a program cannot be kept in a catalog, so the view is temporary."""
        identifier = self._catalogs.qualify(_path(view_path))
        if ignore_if_exists and self._catalogs.find_table(identifier.to_list()) is not None:
            return False
        self._create_view(view_path, table)
        return True

    def _create_view(self, view_path: str, table: Any) -> None:
        if not isinstance(table, Table):
            raise ProgramError(f"create_temporary_view takes a Table, got {table!r}.")
        view = InlineView(schema_of(table.relation), node=table.relation)
        identifier = self._catalogs.qualify(_path(view_path))
        self._catalogs.create_table(identifier, view, temporary=True)

    def create_temporary_table(
        self,
        path: str,
        descriptor: TableDescriptor,
        ignoreIfExists: bool | None = False,
    ) -> None:
        """Make a table for as long as the environment lives."""
        self._create_table(path, descriptor, True, bool(ignoreIfExists))

    def create_table(
        self,
        path: str,
        descriptor: TableDescriptor,
        ignoreIfExists: bool | None = False,
    ) -> None:
        """Make a table in a catalog; one that is there already is all right if that is said."""
        self._create_table(path, descriptor, False, bool(ignoreIfExists))

    def _create_table(
        self, path: str, descriptor: TableDescriptor, temporary: bool, ignore_if_exists: bool
    ) -> bool:
        from scurry.table.statements.tables import create_checked

        if not isinstance(descriptor, TableDescriptor):
            raise ProgramError(f"create_table takes a TableDescriptor, got {descriptor!r}.")
        identifier = self._catalogs.qualify(_path(path))
        table = descriptor.to_catalog_table()
        return create_checked(self, identifier, table, temporary, ignore_if_exists)

    def drop_temporary_table(self, table_path: str) -> bool:
        """Drop a temporary table; False if there is none."""
        return self._catalogs.drop_temporary(_path(table_path), "TABLE")

    def drop_table(self, table_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Drop a table of a catalog; False if there is none."""
        return self._catalogs.drop_table(_path(table_path), "TABLE", ignore_if_not_exists)

    def drop_temporary_view(self, view_path: str) -> bool:
        """Drop a temporary view; False if there is none."""
        return self._catalogs.drop_temporary(_path(view_path), "VIEW")

    def drop_view(self, view_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Drop a view of a catalog; False if there is none."""
        return self._catalogs.drop_table(_path(view_path), "VIEW", ignore_if_not_exists)

    # --- catalogs, databases, modules

    def create_catalog(self, catalog_name: str, catalog_descriptor: CatalogDescriptor) -> None:
        """Make a catalog by its options."""
        options = catalog_descriptor.configuration.to_dict()
        made = make_catalog(catalog_name, options)
        self._catalogs.register(catalog_name, made, options, catalog_descriptor.comment)

    def register_catalog(self, catalog_name: str, catalog: Catalog) -> None:
        """Add a catalog that the program has made."""
        self._catalogs.register(catalog_name, catalog)

    def get_catalog(self, catalog_name: str) -> Catalog | None:
        """A catalog by name, None if there is none."""
        return self._catalogs.find_catalog(catalog_name)

    def use_catalog(self, catalog_name: str) -> None:
        """Make a catalog the current one, with its default database."""
        self._catalogs.use_catalog(catalog_name)

    def use_database(self, database_name: str) -> None:
        """Make a database of the current catalog the current one."""
        self._catalogs.use_database(database_name)

    def get_current_catalog(self) -> str | None:
        """The name of the current catalog."""
        return self._catalogs.current_catalog

    def get_current_database(self) -> str | None:
        """The name of the current database."""
        return self._catalogs.current_database

    def load_module(self, module_name: str, module: Module) -> None:
        """Load a module of functions, behind those that are in use."""
        self._catalogs.modules.load(module_name, module)

    def unload_module(self, module_name: str) -> None:
        """Forget a module."""
        self._catalogs.modules.unload(module_name)

    def use_modules(self, *module_names: str) -> None:
        """Put just these modules in use, in this order."""
        self._catalogs.modules.use(module_names)

    def list_catalogs(self) -> list[str]:
        """The names of all catalogs."""
        return self._catalogs.list_catalogs()

    def list_modules(self) -> list[str]:
        """The modules in use."""
        return self._catalogs.modules.used()

    def list_full_modules(self) -> list[ModuleEntry]:
        """All modules that are loaded."""
        return self._catalogs.modules.entries()

    def list_databases(self) -> list[str]:
        """The databases of the current catalog."""
        return sorted(self._catalogs.catalog(self._here()[0]).list_databases())

    def list_tables(self) -> list[str]:
        """The tables and views of the current database."""
        return self._catalogs.list_tables(*self._here())

    def list_views(self) -> list[str]:
        """The views of the current database."""
        return self._catalogs.list_views(*self._here())

    def list_materialized_tables(self) -> list[str]:
        """Always empty: there are no materialized tables."""
        return []

    def list_temporary_tables(self) -> list[str]:
        """The temporary tables and views of the current database."""
        return self._catalogs.list_temporary(*self._here())

    def list_temporary_views(self) -> list[str]:
        """The temporary views of the current database."""
        return self._catalogs.list_temporary(*self._here(), "VIEW")

    def list_user_defined_functions(self) -> list[str]:
        """The functions of the user's that a name of one part finds."""
        return self._catalogs.user_functions()

    def list_functions(self) -> list[str]:
        """All functions that a name of one part finds."""
        return self._catalogs.all_functions()

    def _here(self) -> tuple[str, str]:
        return self._catalogs.database_names(())

    # --- functions

    def create_temporary_system_function(self, name: str, function: Any) -> None:
        """Register a function of the user's under a name of one part, which hides built-in ones."""
        self._catalogs.create_system_function(name, _function(name, function))

    def drop_temporary_system_function(self, name: str) -> bool:
        """Forget such a function; False if there is none."""
        return self._catalogs.drop_system_function(name)

    def create_temporary_function(self, path: str, function: Any) -> None:
        """Register a function of the user's in a database."""
        self._catalogs.create_temporary_function(_path(path), _function(path, function))

    def drop_temporary_function(self, path: str) -> bool:
        """Forget such a function; False if there is none."""
        return self._catalogs.drop_temporary_function(_path(path))

    def create_function(self, path: str, class_name: str, ignore_if_exists: bool = False) -> None:
        """Keep a function in a catalog by its module and name."""
        function = CatalogFunction.create_instance(class_name)
        self._catalogs.create_function(_path(path), function, ignore_if_exists)

    def drop_function(self, path: str) -> bool:
        """Remove a function of a catalog; False if there is none."""
        return self._catalogs.drop_function(_path(path), ignore_if_not_exists=True)

    # --- settings

    def get_config(self) -> TableConfig:
        """Settings that count from the next statement on."""
        return self._config

    def add_python_file(self, file_path: str) -> None:
        """Send a file, or a directory of packages, to the workers."""
        self._environment.add_python_file(file_path)

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Say which packages the workers need."""
        self._environment.set_python_requirements(requirements_file_path, requirements_cache_dir)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Send an archive to the workers."""
        self._environment.add_python_archive(archive_path, target_dir)


def _settings(given: EnvironmentSettings | Configuration) -> EnvironmentSettings:
    if isinstance(given, Configuration):
        return EnvironmentSettings.new_instance().with_configuration(given).build()
    if not isinstance(given, EnvironmentSettings):
        raise ProgramError(
            "TableEnvironment.create takes EnvironmentSettings such as "
            f"EnvironmentSettings.in_streaming_mode(), got {given!r}."
        )
    return given


def _text(method: str, given: Any) -> str:
    if not isinstance(given, str):
        raise ProgramError(f"{method} takes a text in SQL, got {given!r}.")
    return given


def _path(path: str) -> tuple[str, ...]:
    """The names of a path, which is written as in SQL."""
    if not isinstance(path, str) or not path:
        raise ProgramError(f"A path is a text such as 'database.table', got {path!r}.")
    return parse_name(path).names


def _function(name: str, function: Any) -> Any:
    from scurry.functions.udfs import UserDefinedFunction, UserDefinedFunctionWrapper
    from scurry.table.udf import wrapped

    if isinstance(function, UserDefinedFunctionWrapper):
        return function
    if isinstance(function, UserDefinedFunction):
        return wrapped(function)
    raise ProgramError(
        f"The function {name!r} must be made with udf, udtf, udaf or udtaf, got {function!r}."
    )


def __getattr__(name: str) -> Any:
    """``StreamTableEnvironment`` can be imported from here, too, as in PyFlink."""
    if name == "StreamTableEnvironment":
        from scurry.table.stream_table_environment import StreamTableEnvironment

        return StreamTableEnvironment
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
