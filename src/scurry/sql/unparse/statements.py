"""CREATE and DROP of everything but tables, and statements that change data."""

from __future__ import annotations

from scurry.sql.ast import objects
from scurry.sql.ast import statements as ast
from scurry.sql.unparse.tables import with_options
from scurry.sql.unparse.writer import (
    commas,
    comment,
    optional,
    string,
    unparse,
    when,
    words,
    writes,
)


@writes(objects.PartitionValue)
def _partition_value(node: objects.PartitionValue) -> str:
    return words(unparse(node.column), optional("=", node.value))


@writes(objects.CreateView)
def _create_view(node: objects.CreateView) -> str:
    return words(
        "CREATE",
        when(node.temporary, "TEMPORARY"),
        "VIEW",
        when(node.if_not_exists, "IF NOT EXISTS"),
        unparse(node.name),
        when(node.columns, f"({commas(node.columns)})"),
        comment(node.comment),
        f"AS {unparse(node.query)}",
    )


@writes(objects.Resource)
def _resource(node: objects.Resource) -> str:
    return f"{node.kind} {string(node.path)}"


@writes(objects.CreateFunction)
def _create_function(node: objects.CreateFunction) -> str:
    return words(
        "ALTER" if node.alter else "CREATE",
        when(node.temporary, "TEMPORARY"),
        when(node.system, "SYSTEM"),
        "FUNCTION",
        when(node.if_not_exists, "IF NOT EXISTS"),
        when(node.if_exists, "IF EXISTS"),
        f"{unparse(node.name)} AS {string(node.identifier)}",
        when(node.language, f"LANGUAGE {node.language}"),
        when(node.resources, f"USING {commas(node.resources)}"),
        with_options(node.options),
    )


@writes(objects.CreateDatabase)
def _create_database(node: objects.CreateDatabase) -> str:
    return _create_named("DATABASE", node)


@writes(objects.CreateCatalog)
def _create_catalog(node: objects.CreateCatalog) -> str:
    return _create_named("CATALOG", node)


def _create_named(kind: str, node: objects.CreateDatabase | objects.CreateCatalog) -> str:
    return words(
        f"CREATE {kind}",
        when(node.if_not_exists, "IF NOT EXISTS"),
        unparse(node.name),
        comment(node.comment),
        with_options(node.options),
    )


@writes(objects.CreateModel)
def _create_model(node: objects.CreateModel) -> str:
    return words(
        "CREATE",
        when(node.temporary, "TEMPORARY"),
        "MODEL",
        when(node.if_not_exists, "IF NOT EXISTS"),
        unparse(node.name),
        when(node.inputs, f"INPUT ({commas(node.inputs)})"),
        when(node.outputs, f"OUTPUT ({commas(node.outputs)})"),
        comment(node.comment),
        with_options(node.options),
        optional("AS", node.query),
    )


@writes(objects.Drop)
def _drop(node: objects.Drop) -> str:
    return words(
        "DROP",
        when(node.temporary, "TEMPORARY"),
        when(node.system, "SYSTEM"),
        node.kind,
        when(node.if_exists, "IF EXISTS"),
        unparse(node.name),
        node.behavior,
    )


@writes(objects.LoadModule)
def _load(node: objects.LoadModule) -> str:
    return words("LOAD MODULE", unparse(node.name), with_options(node.options))


@writes(objects.UnloadModule)
def _unload(node: objects.UnloadModule) -> str:
    return f"UNLOAD MODULE {unparse(node.name)}"


# --- data -----------------------------------------------------------------------------------------


@writes(ast.QueryStatement)
def _query(node: ast.QueryStatement) -> str:
    return unparse(node.query)


@writes(ast.Insert)
def _insert(node: ast.Insert) -> str:
    return words(
        "INSERT OVERWRITE" if node.overwrite else "INSERT INTO",
        unparse(node.table),
        when(node.hints, f"/*+ {commas(node.hints)} */"),
        when(node.partition, f"PARTITION ({commas(node.partition)})"),
        when(node.columns, f"({commas(node.columns)})"),
        unparse(node.query),
    )


@writes(ast.StatementSet)
def _statement_set(node: ast.StatementSet) -> str:
    return f"EXECUTE {statement_set(node)}"


def statement_set(node: ast.StatementSet) -> str:
    """A statement set without the word EXECUTE."""
    return f"STATEMENT SET BEGIN {' '.join(f'{unparse(one)};' for one in node.statements)} END"


@writes(ast.BeginStatementSet)
def _begin(node: ast.BeginStatementSet) -> str:
    return "BEGIN STATEMENT SET"


@writes(ast.EndStatementSet)
def _end(node: ast.EndStatementSet) -> str:
    return "END"


@writes(ast.Execute)
def _execute(node: ast.Execute) -> str:
    return f"EXECUTE {unparse(node.statement)}"


@writes(ast.CompilePlan)
def _compile(node: ast.CompilePlan) -> str:
    return words(
        "COMPILE",
        when(node.execute, "AND EXECUTE"),
        f"PLAN {string(node.path)}",
        when(node.if_not_exists, "IF NOT EXISTS"),
        f"FOR {unparse(node.statement)}",
    )


@writes(ast.ExecutePlan)
def _execute_plan(node: ast.ExecutePlan) -> str:
    return f"EXECUTE PLAN {string(node.path)}"


@writes(ast.Delete)
def _delete(node: ast.Delete) -> str:
    alias = optional("AS", node.alias)
    return words("DELETE FROM", unparse(node.table), alias, optional("WHERE", node.where))


@writes(ast.Assignment)
def _assignment(node: ast.Assignment) -> str:
    return f"{unparse(node.column)} = {unparse(node.value)}"


@writes(ast.Update)
def _update(node: ast.Update) -> str:
    return words(
        "UPDATE",
        unparse(node.table),
        optional("AS", node.alias),
        f"SET {commas(node.assignments)}",
        optional("WHERE", node.where),
    )


@writes(ast.Truncate)
def _truncate(node: ast.Truncate) -> str:
    return f"TRUNCATE TABLE {unparse(node.table)}"


@writes(ast.AnalyzeTable)
def _analyze(node: ast.AnalyzeTable) -> str:
    return words(
        f"ANALYZE TABLE {unparse(node.table)}",
        when(node.partition, f"PARTITION ({commas(node.partition)})"),
        "COMPUTE STATISTICS",
        when(node.all_columns, "FOR ALL COLUMNS"),
        when(node.columns, f"FOR COLUMNS {commas(node.columns)}"),
    )


@writes(ast.Call)
def _call(node: ast.Call) -> str:
    return f"CALL {unparse(node.call)}"
