"""What table environments do with compiled plans, models and Java functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scurry.common.errors import NotSupportedError, ProgramError
from scurry.sql import ast
from scurry.sql.parser import parse_name, parse_statement
from scurry.table.catalog.errors import (
    ModelAlreadyExistException,
    ModelNotExistException,
    nearest,
)
from scurry.table.catalog.models import CatalogModel
from scurry.table.catalog.names import ObjectIdentifier
from scurry.table.catalogs import Catalogs
from scurry.table.model_descriptor import ModelDescriptor
from scurry.table.plan_reference import PlanReference
from scurry.table.table_result import TableResult

if TYPE_CHECKING:
    from scurry.table.compiled_plan import CompiledPlan

__all__ = ["JavaFunctionMethods", "ModelMethods", "PlanMethods"]


class PlanMethods:
    """INSERTs that are compiled, kept and executed later."""

    def compile_plan_sql(self, stmt: str) -> CompiledPlan:
        """Compile an INSERT, or a statement set, without executing it."""
        from scurry.table.compiled_plan import compile_pipelines
        from scurry.table.statements.inserts import pipeline_of

        environment: Any = self
        statement = parse_statement(stmt)
        inserts = statement.statements if isinstance(statement, ast.StatementSet) else [statement]
        pipelines = []
        for one in inserts:
            if not isinstance(one, ast.Insert):
                raise ProgramError(f"compile_plan_sql takes an INSERT statement, got: {stmt}")
            pipelines.append(pipeline_of(environment, one))
        return compile_pipelines(environment, pipelines)

    def load_plan(self, plan_reference: PlanReference) -> CompiledPlan:
        """A plan that was kept."""
        from scurry.table.compiled_plan import load_plan

        environment: Any = self
        return load_plan(environment, plan_reference)

    def execute_plan(self, plan_reference: PlanReference) -> TableResult:
        """Load a plan and execute it."""
        return self.load_plan(plan_reference).execute()


class ModelMethods:
    """Models of catalogs, and temporary ones."""

    _catalogs: Catalogs
    _temporary_models: dict[ObjectIdentifier, CatalogModel]

    def create_model(
        self, model_path: str, model_descriptor: ModelDescriptor, ignore_if_exists: bool = False
    ) -> None:
        """Keep a model in a catalog."""
        identifier = self._catalogs.qualify(parse_name(model_path).names)
        model = _described(model_descriptor).to_catalog_model()
        self.keep_model(identifier, model, False, ignore_if_exists)

    def create_temporary_model(
        self, model_path: str, model_descriptor: ModelDescriptor, ignore_if_exists: bool = False
    ) -> None:
        """Keep a model for as long as the environment lives."""
        identifier = self._catalogs.qualify(parse_name(model_path).names)
        model = _described(model_descriptor).to_catalog_model()
        self.keep_model(identifier, model, True, ignore_if_exists)

    def keep_model(
        self,
        identifier: ObjectIdentifier,
        model: CatalogModel,
        temporary: bool,
        ignore_if_exists: bool,
    ) -> None:
        """Keep a model in its catalog, or for as long as the environment lives."""
        if not temporary:
            catalog = self._catalogs.catalog(identifier.catalog_name)
            catalog.create_model(identifier.to_object_path(), model, ignore_if_exists)
        elif identifier not in self._temporary_models:
            self._temporary_models[identifier] = model
        elif not ignore_if_exists:
            raise ModelAlreadyExistException(
                f"There is a temporary model {identifier.as_summary_string()!r} already: choose "
                "another name."
            )

    def forget_model(
        self, identifier: ObjectIdentifier, temporary: bool, ignore_if_not_exists: bool
    ) -> None:
        """Drop a model of a catalog, or a temporary one."""
        if not temporary:
            catalog = self._catalogs.catalog(identifier.catalog_name)
            catalog.drop_model(identifier.to_object_path(), ignore_if_not_exists)
        elif self._temporary_models.pop(identifier, None) is None and not ignore_if_not_exists:
            raise ModelNotExistException(
                f"There is no temporary model {identifier.as_summary_string()!r}. "
                + nearest(identifier.object_name, self.list_temporary_models())
            )

    def find_model(
        self, identifier: ObjectIdentifier, temporary: bool = False
    ) -> CatalogModel | None:
        """A temporary model, or unless only such are wanted one of a catalog."""
        found = self._temporary_models.get(identifier)
        if found is not None or temporary:
            return found
        catalog, path = (
            self._catalogs.catalog(identifier.catalog_name),
            identifier.to_object_path(),
        )
        return catalog.get_model(path) if catalog.model_exists(path) else None

    def models_of(self, catalog: str, database: str) -> list[str]:
        """The models of a database, without temporary ones, as Flink lists them."""
        return sorted(self._catalogs.catalog(catalog).list_models(database))

    def drop_model(self, model_path: str, ignore_if_not_exists: bool = True) -> bool:
        """Drop a model of a catalog; False if there is none."""
        identifier = self._catalogs.qualify(parse_name(model_path).names)
        catalog, path = (
            self._catalogs.catalog(identifier.catalog_name),
            identifier.to_object_path(),
        )
        there = catalog.model_exists(path)
        catalog.drop_model(path, ignore_if_not_exists)
        return there

    def drop_temporary_model(self, model_path: str) -> bool:
        """Forget a temporary model; False if there is none."""
        identifier = self._catalogs.qualify(parse_name(model_path).names)
        return self._temporary_models.pop(identifier, None) is not None

    def list_models(self) -> list[str]:
        """The models of the current database, without temporary ones."""
        catalog, database = self._catalogs.database_names(())
        return sorted(self._catalogs.catalog(catalog).list_models(database))

    def list_temporary_models(self) -> list[str]:
        """The temporary models of the current database."""
        here = self._catalogs.database_names(())
        return sorted(
            one.object_name
            for one in self._temporary_models
            if (one.catalog_name, one.database_name) == here
        )


class JavaFunctionMethods:
    """Functions that are Java classes: refused."""

    def create_java_temporary_system_function(self, name: str, function_class_name: str) -> None:
        """Refused: there is no JVM for functions."""
        raise _no_java(name, function_class_name)

    def create_java_function(
        self, path: str, function_class_name: str, ignore_if_exists: bool | None = None
    ) -> None:
        """Refused: there is no JVM for functions."""
        raise _no_java(path, function_class_name)

    def create_java_temporary_function(self, path: str, function_class_name: str) -> None:
        """Refused: there is no JVM for functions."""
        raise _no_java(path, function_class_name)


def _described(descriptor: Any) -> ModelDescriptor:
    if not isinstance(descriptor, ModelDescriptor):
        raise ProgramError(f"create_model takes a ModelDescriptor, got {descriptor!r}.")
    return descriptor


def _no_java(name: str, class_name: str) -> NotSupportedError:
    return NotSupportedError(
        f"The function {name!r} is the Java class {class_name!r}, and functions run in Python "
        "here: write it in Python, declare it with scurry.table.udf.udf, udtf or udaf, and "
        "register it with create_temporary_function."
    )
