"""CREATE and DROP of views, functions, databases, catalogs, models and modules."""

from __future__ import annotations

from scurry.sql.ast.node import Statement
from scurry.sql.ast.objects import (
    CreateCatalog,
    CreateDatabase,
    CreateFunction,
    CreateModel,
    CreateView,
    Drop,
    LoadModule,
    PartitionValue,
    Resource,
    UnloadModule,
)
from scurry.sql.parser.tables import TableParser

_DROPPABLE = ("TABLE", "VIEW", "FUNCTION", "DATABASE", "CATALOG", "MODEL")
_LANGUAGES = ("JAVA", "SCALA", "PYTHON", "SQL")


class ObjectParser(TableParser):
    """Parses CREATE and DROP."""

    def create(self) -> Statement:
        """Any CREATE, and REPLACE TABLE."""
        start = self.start
        replacing = self.expect_any("CREATE", "REPLACE") == "REPLACE"
        or_alter = self.accept("OR", "ALTER")
        replacing = replacing or (not or_alter and self.accept("OR", "REPLACE"))
        temporary = self.accept("TEMPORARY")
        system = temporary and self.accept("SYSTEM")
        if or_alter or self.at("MATERIALIZED"):
            return self.create_materialized_table(start, or_alter)
        if replacing or (self.at("TABLE") and not system):
            return self.create_table(start, temporary, replacing)
        if self.at("FUNCTION"):
            return self._create_function(start, temporary, system)
        if system:
            raise self.unexpected()
        if self.at("VIEW"):
            return self._create_view(start, temporary)
        if self.at("MODEL"):
            return self._create_model(start, temporary)
        if temporary:
            raise self.unexpected()
        return self._create_named(start)

    def _create_view(self, start: int, temporary: bool) -> Statement:
        self.expect("VIEW")
        if_not_exists = self.accept("IF", "NOT", "EXISTS")
        name = self.name()
        columns = self.identifiers() if self.at_symbol("(") else ()
        comment = self.comment()
        self.expect("AS")
        query = self.query()
        span = self.since(start)
        return CreateView(name, query, columns, comment, temporary, if_not_exists, span=span)

    def _create_function(self, start: int, temporary: bool, system: bool) -> Statement:
        self.expect("FUNCTION")
        if_not_exists = self.accept("IF", "NOT", "EXISTS")
        return self.function_definition(
            start, temporary=temporary, system=system, if_not_exists=if_not_exists
        )

    def function_definition(self, start: int, **flags: bool) -> CreateFunction:
        """From the function's name on."""
        name = self.name()
        self.expect("AS")
        identifier = self.string()
        language = self.expect_any(*_LANGUAGES) if self.accept("LANGUAGE") else ""
        resources = self.listed(self._resource) if self.accept("USING") else ()
        options = self.with_options()
        return CreateFunction(
            name, identifier, language, resources, options, span=self.since(start), **flags
        )

    def _resource(self) -> Resource:
        start, kind = self.start, self.expect_any("JAR", "FILE", "ARCHIVE")
        return Resource(kind, self.string(), span=self.since(start))

    def _create_model(self, start: int, temporary: bool) -> Statement:
        self.expect("MODEL")
        if_not_exists = self.accept("IF", "NOT", "EXISTS")
        name = self.name()
        inputs = self.table_parts().columns if self.accept("INPUT") else ()
        outputs = self.table_parts().columns if self.accept("OUTPUT") else ()
        comment, options = self.comment(), self.with_options()
        query = self.query() if self.accept("AS") else None
        return CreateModel(
            name, inputs, outputs, comment, options, query, temporary, if_not_exists,
            span=self.since(start),
        )  # fmt: skip

    def _create_named(self, start: int) -> Statement:
        kind = (
            CreateDatabase
            if self.expect_any("DATABASE", "CATALOG") == "DATABASE"
            else (CreateCatalog)
        )
        if_not_exists = self.accept("IF", "NOT", "EXISTS")
        name, comment, options = self.name(), self.comment(), self.with_options()
        return kind(name, comment, options, if_not_exists, span=self.since(start))

    # --- DROP, modules --------------------------------------------------------------------------

    def drop(self) -> Statement:
        """Any DROP."""
        start = self.start
        self.expect("DROP")
        temporary = self.accept("TEMPORARY")
        system = temporary and self.accept("SYSTEM")
        if self.accept("MATERIALIZED"):
            self.expect("TABLE")
            kind = "MATERIALIZED TABLE"
        else:
            kind = self.expect_any(*(("FUNCTION",) if system else _DROPPABLE))
        if_exists = self.accept("IF", "EXISTS")
        name, behavior = self.name(), self.accept_any("RESTRICT", "CASCADE")
        span = self.since(start)
        return Drop(kind, name, if_exists, temporary, system, behavior, span=span)

    def load_module(self) -> Statement:
        """``LOAD MODULE``."""
        start = self.start
        self.expect("LOAD", "MODULE")
        return LoadModule(self.identifier(), self.with_options(), span=self.since(start))

    def unload_module(self) -> Statement:
        """``UNLOAD MODULE``."""
        start = self.start
        self.expect("UNLOAD", "MODULE")
        return UnloadModule(self.identifier(), span=self.since(start))

    def partition(self) -> tuple[PartitionValue, ...]:
        """``(a = 1, b = 'x')`` after PARTITION."""
        return self.in_parentheses(self._partition_value)

    def partition_columns(self) -> tuple[PartitionValue, ...]:
        """``(a = 1, b)`` after PARTITION."""
        return self.in_parentheses(self._partition_column)

    def _partition_value(self) -> PartitionValue:
        column = self.identifier()
        self.expect_symbol("=")
        return PartitionValue(column, self.expression(), span=self.since(column.span.start))

    def _partition_column(self) -> PartitionValue:
        column = self.identifier()
        value = self.expression() if self.accept_symbol("=") else None
        return PartitionValue(column, value, span=self.since(column.span.start))
