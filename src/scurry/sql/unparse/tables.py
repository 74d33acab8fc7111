"""CREATE TABLE and ALTER."""

from __future__ import annotations

from scurry.sql.ast import alterations
from scurry.sql.ast import table_definitions as ast
from scurry.sql.ast.node import Identifier, Node
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


@writes(ast.Option)
def _option(node: ast.Option) -> str:
    return f"{unparse(node.key)} = {unparse(node.value)}"


def with_options(options: tuple[ast.Option, ...]) -> str:
    """A WITH clause, or nothing."""
    return when(options, f"WITH ({commas(options)})")


@writes(ast.NamedColumn)
def _named(node: ast.NamedColumn) -> str:
    return unparse(node.name)


@writes(ast.PhysicalColumn)
def _physical(node: ast.PhysicalColumn) -> str:
    key = "" if node.primary_key is None else unparse(node.primary_key)
    return words(unparse(node.name), unparse(node.type), key, comment(node.comment))


@writes(ast.MetadataColumn)
def _metadata(node: ast.MetadataColumn) -> str:
    key = "" if node.key is None else f"FROM {string(node.key)}"
    virtual = when(node.virtual, "VIRTUAL")
    return words(
        unparse(node.name), unparse(node.type), "METADATA", key, virtual, comment(node.comment)
    )


@writes(ast.ComputedColumn)
def _computed(node: ast.ComputedColumn) -> str:
    return words(unparse(node.name), "AS", unparse(node.expression), comment(node.comment))


@writes(ast.Watermark)
def _watermark(node: ast.Watermark) -> str:
    return f"WATERMARK FOR {unparse(node.column)} AS {unparse(node.expression)}"


@writes(ast.PrimaryKey)
def _primary_key(node: ast.PrimaryKey) -> str:
    return words(
        optional("CONSTRAINT", node.name),
        "UNIQUE" if node.unique else "PRIMARY KEY",
        when(node.columns, f"({commas(node.columns)})"),
        {None: "", True: "ENFORCED", False: "NOT ENFORCED"}[node.enforced],
    )


@writes(ast.Distribution)
def _distribution(node: ast.Distribution) -> str:
    return words(
        when(node.columns, words("BY", node.kind, f"({commas(node.columns)})")),
        "" if node.buckets is None else f"INTO {node.buckets} BUCKETS",
    )


@writes(ast.LikeOption)
def _like_option(node: ast.LikeOption) -> str:
    return f"{node.merging} {node.feature}"


@writes(ast.TableLike)
def _like(node: ast.TableLike) -> str:
    options = when(node.options, f"({' '.join(map(unparse, node.options))})")
    return words("LIKE", unparse(node.table), options)


def parts_of(*parts: Node | None) -> str:
    """What stands in the parentheses of CREATE TABLE, with them; or nothing."""
    found = [part for part in parts if part is not None]
    return when(found, f"({commas(found)})")


def partitioned_by(columns: tuple[Identifier, ...]) -> str:
    """A PARTITIONED BY clause, or nothing."""
    return when(columns, f"PARTITIONED BY ({commas(columns)})")


@writes(ast.CreateTable)
def _create(node: ast.CreateTable) -> str:
    return words(
        "CREATE",
        when(node.or_replace, "OR REPLACE"),
        when(node.temporary, "TEMPORARY"),
        "TABLE",
        when(node.if_not_exists, "IF NOT EXISTS"),
        unparse(node.name),
        parts_of(*node.columns, node.watermark, node.primary_key),
        comment(node.comment),
        optional("DISTRIBUTED", node.distribution),
        partitioned_by(node.partitioned_by),
        with_options(node.options),
        "" if node.like is None else unparse(node.like),
        optional("AS", node.query),
    )


@writes(ast.CreateMaterializedTable)
def _create_materialized(node: ast.CreateMaterializedTable) -> str:
    return words(
        "CREATE",
        when(node.or_alter, "OR ALTER"),
        "MATERIALIZED TABLE",
        unparse(node.name),
        parts_of(*node.columns, node.watermark, node.primary_key),
        comment(node.comment),
        optional("DISTRIBUTED", node.distribution),
        partitioned_by(node.partitioned_by),
        with_options(node.options),
        optional("FRESHNESS =", node.freshness),
        when(node.refresh_mode, f"REFRESH_MODE = {node.refresh_mode}"),
        optional("AS", node.query),
    )


# --- ALTER ----------------------------------------------------------------------------------------


@writes(alterations.Alter)
def _alter(node: alterations.Alter) -> str:
    exists = when(node.if_exists, "IF EXISTS")
    return words("ALTER", node.kind, exists, unparse(node.name), unparse(node.change))


@writes(alterations.RenameTo)
def _rename(node: alterations.RenameTo) -> str:
    return f"RENAME TO {unparse(node.name)}"


@writes(alterations.RenameColumn)
def _rename_column(node: alterations.RenameColumn) -> str:
    return f"RENAME {unparse(node.old)} TO {unparse(node.new)}"


@writes(alterations.SetOptions)
def _set(node: alterations.SetOptions) -> str:
    return f"SET ({commas(node.options)})"


@writes(alterations.ResetOptions)
def _reset(node: alterations.ResetOptions) -> str:
    return f"RESET ({commas(node.keys)})"


@writes(alterations.SetComment)
def _comment(node: alterations.SetComment) -> str:
    return comment(node.comment)


@writes(alterations.ColumnPosition)
def _position(node: alterations.ColumnPosition) -> str:
    first = when(node.first, "FIRST")
    return words(unparse(node.column), first, optional("AFTER", node.after))


@writes(alterations.ChangeSchema)
def _change(node: alterations.ChangeSchema) -> str:
    if node.distribution is not None:
        return f"{node.verb} DISTRIBUTION {unparse(node.distribution)}"
    return f"{node.verb} {parts_of(*node.columns, node.watermark, node.primary_key)}"


@writes(alterations.DropColumns)
def _drop_columns(node: alterations.DropColumns) -> str:
    return f"DROP ({commas(node.columns)})"


@writes(alterations.DropFeature)
def _drop_feature(node: alterations.DropFeature) -> str:
    return words("DROP", node.feature, "" if node.name is None else unparse(node.name))


@writes(alterations.PartitionSpec)
def _partition_spec(node: alterations.PartitionSpec) -> str:
    return words(f"PARTITION ({commas(node.values)})", with_options(node.options))


@writes(alterations.AddPartitions)
def _add_partitions(node: alterations.AddPartitions) -> str:
    exists = when(node.if_not_exists, "IF NOT EXISTS")
    return words("ADD", exists, *map(unparse, node.partitions))


@writes(alterations.DropPartitions)
def _drop_partitions(node: alterations.DropPartitions) -> str:
    return words("DROP", when(node.if_exists, "IF EXISTS"), commas(node.partitions))


@writes(alterations.RefreshTable)
def _refresh(node: alterations.RefreshTable) -> str:
    partition = when(node.partition, f"PARTITION ({commas(node.partition)})")
    return words(node.verb, partition, with_options(node.options))


@writes(alterations.SetQuery)
def _set_query(node: alterations.SetQuery) -> str:
    return f"AS {unparse(node.query)}"
