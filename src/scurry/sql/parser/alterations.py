"""ALTER."""

from __future__ import annotations

from dataclasses import replace

from scurry.sql.ast.alterations import (
    AddPartitions,
    Alter,
    Alteration,
    ChangeSchema,
    ColumnPosition,
    DropColumns,
    DropFeature,
    DropPartitions,
    PartitionSpec,
    RefreshTable,
    RenameColumn,
    RenameTo,
    ResetOptions,
    SetComment,
    SetOptions,
    SetQuery,
)
from scurry.sql.ast.expressions import StringLiteral
from scurry.sql.ast.node import Name, Statement
from scurry.sql.ast.objects import PartitionValue
from scurry.sql.parser.objects import ObjectParser

#: which verbs each kind of thing knows
_VERBS = {
    "TABLE": ("RENAME", "SET", "RESET", "ADD", "MODIFY", "DROP"),
    "VIEW": ("RENAME", "AS"),
    "DATABASE": ("SET",),
    "CATALOG": ("SET", "RESET", "COMMENT"),
    "MODEL": ("RENAME", "SET", "RESET"),
    "MATERIALIZED TABLE": (
        "SUSPEND", "RESUME", "REFRESH", "SET", "RESET", "AS", "ADD", "MODIFY", "DROP", "RENAME",
    ),
}  # fmt: skip


class AlterationParser(ObjectParser):
    """Parses ALTER."""

    def alter(self) -> Statement:
        """Any ALTER."""
        start = self.start
        self.expect("ALTER")
        if self.at("FUNCTION", "TEMPORARY"):
            return self._alter_function(start)
        if self.accept("MATERIALIZED"):
            self.expect("TABLE")
            kind = "MATERIALIZED TABLE"
        else:
            kind = self.expect_any("TABLE", "VIEW", "DATABASE", "CATALOG", "MODEL")
        if_exists = self.accept("IF", "EXISTS")
        name = self.name()
        change = self._change(kind)
        return Alter(kind, name, change, if_exists, span=self.since(start))

    def _alter_function(self, start: int) -> Statement:
        temporary = self.accept("TEMPORARY")
        system = temporary and self.accept("SYSTEM")
        self.expect("FUNCTION")
        if_exists = self.accept("IF", "EXISTS")
        return self.function_definition(
            start, temporary=temporary, system=system, if_exists=if_exists, alter=True
        )

    def _change(self, kind: str) -> Alteration:
        start, verb = self.start, self.expect_any(*_VERBS[kind])
        if verb == "RENAME":
            return self._rename(start, kind)
        if verb in ("ADD", "MODIFY"):
            return self._add(start, verb)
        if verb == "DROP":
            return self._drop_part(start)
        if verb == "SET":
            return SetOptions(self.options(), span=self.since(start))
        if verb == "RESET":
            return ResetOptions(self._keys(), span=self.since(start))
        if verb == "COMMENT":
            return SetComment(self.string(), span=self.since(start))
        if verb == "AS":
            return SetQuery(self.query(), span=self.since(start))
        return self._refresh(start, verb)

    def _keys(self) -> tuple[StringLiteral, ...]:
        self.expect_symbol("(")
        keys = () if self.at_symbol(")") else self.listed(self.literal)
        self.expect_symbol(")")
        return keys

    def _rename(self, start: int, kind: str) -> Alteration:
        if self.accept("TO"):
            return RenameTo(self.name(), span=self.since(start))
        if kind not in ("TABLE", "MATERIALIZED TABLE"):
            raise self.unexpected()
        old = self.name()
        self.expect("TO")
        return RenameColumn(old, self.identifier(), span=self.since(start))

    # --- ADD, MODIFY ----------------------------------------------------------------------------

    def _add(self, start: int, verb: str) -> Alteration:
        if verb == "ADD" and (self.at("PARTITION") or self.at_words("IF", "NOT", "EXISTS")):
            if_not_exists = self.accept("IF", "NOT", "EXISTS")
            partitions = [self._partition_spec()]
            while self.at("PARTITION"):
                partitions.append(self._partition_spec())
            return AddPartitions(tuple(partitions), if_not_exists, span=self.since(start))
        if self.at("DISTRIBUTION"):
            found = self.distribution()
            return ChangeSchema(verb, distribution=found, span=self.since(start))
        change = ChangeSchema(verb)
        if self.accept_symbol("("):
            change = self._part(change)
            while self.accept_symbol(","):
                change = self._part(change)
            self.expect_symbol(")")
        else:
            change = self._part(change)
        return replace(change, span=self.since(start))

    def _part(self, change: ChangeSchema) -> ChangeSchema:
        if self.at("WATERMARK"):
            return replace(change, watermark=self.watermark())
        if self.at("CONSTRAINT", "PRIMARY", "UNIQUE"):
            return replace(change, primary_key=self.primary_key())
        return replace(change, columns=(*change.columns, self._positioned()))

    def _positioned(self) -> ColumnPosition:
        start, column = self.start, self.column()
        first = self.accept("FIRST")
        after = self.identifier() if not first and self.accept("AFTER") else None
        return ColumnPosition(column, first, after, span=self.since(start))

    # --- DROP, partitions, materialized tables ----------------------------------------------------

    def _drop_part(self, start: int) -> Alteration:
        if self.accept("PRIMARY", "KEY"):
            return DropFeature("PRIMARY KEY", span=self.since(start))
        if self.at("WATERMARK", "DISTRIBUTION"):
            return DropFeature(self.take().word, span=self.since(start))
        if self.accept("CONSTRAINT"):
            return DropFeature("CONSTRAINT", self.identifier(), span=self.since(start))
        if self.at("PARTITION") or self.at_words("IF", "EXISTS"):
            if_exists = self.accept("IF", "EXISTS")
            partitions = self.listed(self._dropped_partition)
            return DropPartitions(partitions, if_exists, span=self.since(start))
        columns: tuple[Name, ...]
        columns = self.in_parentheses(self.name) if self.at_symbol("(") else (self.name(),)
        return DropColumns(columns, span=self.since(start))

    def _dropped_partition(self) -> PartitionSpec:
        start = self.start
        self.expect("PARTITION")
        return PartitionSpec(self.partition(), span=self.since(start))

    def _partition_spec(self) -> PartitionSpec:
        start = self.start
        self.expect("PARTITION")
        return PartitionSpec(self.partition(), self.with_options(), span=self.since(start))

    def _refresh(self, start: int, verb: str) -> Alteration:
        partition: tuple[PartitionValue, ...] = ()
        if verb == "REFRESH" and self.accept("PARTITION"):
            partition = self.partition()
        options = self.with_options() if verb == "RESUME" else ()
        return RefreshTable(verb, partition, options, span=self.since(start))
