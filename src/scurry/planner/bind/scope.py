"""Scopes: which columns can be named at a place in a query, and by which names.

A scope is a row of relations with their aliases, the columns of which stand one after the other, as
they do in a join. A scope may lie within another, that of the query around it; a name that is not
found inside is looked for outside, and is then an :class:`OuterRef`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from scurry.common.data_types import DataType, DataTypes, RowType
from scurry.common.spans import Span
from scurry.functions.builtin import resolve
from scurry.functions.expressions import Expression, InputRef, Literal, rewrite
from scurry.planner.columns import Column, Columns
from scurry.planner.errors import SqlValidationError, unknown
from scurry.sql.ast.node import Identifier, Name


@dataclass(frozen=True)
class OuterRef(Expression):
    """A column of a query around this one: ``depth`` 1 is the one right around it."""

    depth: int
    index: int
    type: DataType
    span: Any = field(default=None, compare=False, repr=False, kw_only=True)
    operands: tuple[Expression, ...] = field(default=(), init=False, repr=False, compare=False)
    deterministic: bool = field(default=True, init=False, repr=False, compare=False)

    def __str__(self) -> str:
        return f"$outer{self.depth}[{self.index}]"


@dataclass(frozen=True)
class Named:
    """A relation in a scope: its alias (the last part of a table's name, if it has no other), its
    columns, and the index of the first of them."""

    alias: str
    columns: Columns
    start: int
    #: columns that a star leaves out: those that JOIN USING has already shown
    hidden: frozenset[int] = frozenset()

    def places(self, name: str) -> list[int]:
        """The indexes of the columns of that name."""
        return [self.start + at for at, column in enumerate(self.columns) if column.name == name]


@dataclass(frozen=True)
class Scope:
    """The relations of a FROM clause, and the scope around it."""

    relations: tuple[Named, ...] = ()
    outer: Scope | None = None
    #: columns that JOIN USING has made one: a name to the expression that it means
    merged: tuple[tuple[str, Expression], ...] = ()

    @staticmethod
    def of(alias: str, columns: Columns, outer: Scope | None = None) -> Scope:
        """The scope of one relation."""
        return Scope((Named(alias, columns, 0),), outer)

    @property
    def columns(self) -> Columns:
        """All columns, in order."""
        return tuple(column for relation in self.relations for column in relation.columns)

    @property
    def width(self) -> int:
        """How many columns there are."""
        return sum(len(relation.columns) for relation in self.relations)

    def beside(self, right: Scope) -> Scope:
        """The scope of a join: the relations of both."""
        width = self.width
        moved = tuple(
            Named(one.alias, one.columns, one.start + width, one.hidden) for one in right.relations
        )
        return Scope((*self.relations, *moved), self.outer)

    # --- looking up -------------------------------------------------------------------------------

    def resolve(self, name: Name) -> Expression:
        """The column that a name means, or the field of a column."""
        found = self._lookup(name, 0)
        if found is None:
            raise self._unknown(name)
        return found

    def _lookup(self, name: Name, depth: int) -> Expression | None:
        found = self._here(name, depth)
        if found is None and self.outer is not None:
            return self.outer._lookup(name, depth + 1)
        return found

    def _here(self, name: Name, depth: int) -> Expression | None:
        """Longest alias first: ``t.a`` is the column a of t before it is the field a of a
        column t."""
        parts = name.parts
        if len(parts) > 1:
            for relation in self.relations:
                if relation.alias == parts[0].name:
                    places = relation.places(parts[1].name)
                    if len(places) > 1:
                        raise _ambiguous(name, parts[1])
                    if places:
                        return self._fields(self._ref(places[0], depth, name), parts[2:])
        return self._column(name, depth)

    def _column(self, name: Name, depth: int) -> Expression | None:
        first, rest = name.parts[0], name.parts[1:]
        for merged, expression in self.merged:
            if merged == first.name:
                return self._fields(_seen_from(expression, depth), rest)
        places = [place for one in self.relations for place in one.places(first.name)]
        if len(places) > 1:
            raise _ambiguous(name, first, [one.alias for one in self.relations])
        if not places or (rest and self._means_table(first, places[0])):
            return None
        return self._fields(self._ref(places[0], depth, name), rest)

    def _means_table(self, first: Identifier, place: int) -> bool:
        """Whether ``s.a`` is a column of a table s further out, and no field of the column s."""
        outer = self.outer
        while outer is not None and not isinstance(self.columns[place].type, RowType):
            if any(relation.alias == first.name for relation in outer.relations):
                return True
            outer = outer.outer
        return False

    def _ref(self, index: int, depth: int, name: Name) -> Expression:
        kind = self.columns[index].type
        if depth:
            return OuterRef(depth, index, kind, span=name.span)
        return InputRef(index, kind, span=name.span)

    def _fields(self, found: Expression, path: tuple[Identifier, ...]) -> Expression:
        for part in path:
            found = field_of(found, part)
        return found

    def _unknown(self, name: Name) -> SqlValidationError:
        parts = name.parts
        aliases = [relation.alias for relation in self.relations if relation.alias]
        if len(parts) > 1:
            for relation in self.relations:
                if relation.alias == parts[0].name:
                    known = [column.name for column in relation.columns]
                    return unknown("column", str(name), known, name.span, parts[1].name)
            if parts[0].name not in [column.name for column in self.columns]:
                return unknown("table or column", parts[0].name, aliases, parts[0].span)
        known = [column.name for column in self.columns if not column.name.startswith("$")]
        return unknown("column", parts[0].name, known, name.span)

    # --- stars ------------------------------------------------------------------------------------

    def star(self, qualifier: Name | None) -> list[tuple[Column, Expression]] | None:
        """The columns that a star means, None if nothing has the name of its qualifier."""
        if qualifier is None:
            merged = [(Column(name, e.type), e) for name, e in self.merged]
            return merged + [pair for one in self.relations for pair in self._visible(one)]
        for relation in self.relations:
            if relation.alias == qualifier.parts[-1].name:
                return self._all(relation)
        return None

    def _visible(self, relation: Named) -> list[tuple[Column, Expression]]:
        return [
            pair
            for at, pair in enumerate(self._all(relation))
            if relation.start + at not in relation.hidden and not pair[0].name.startswith("$")
        ]

    def _all(self, relation: Named) -> list[tuple[Column, Expression]]:
        return [
            (column, InputRef(relation.start + at, column.type))
            for at, column in enumerate(relation.columns)
        ]


def _seen_from(tree: Expression, depth: int) -> Expression:
    """An expression over columns, as a query so many levels within refers to it."""

    def change(one: Expression) -> Expression:
        if depth and isinstance(one, InputRef):
            return OuterRef(depth, one.index, one.type, span=one.span)
        return one

    return rewrite(tree, change)


def field_of(found: Expression, part: Identifier) -> Expression:
    """The field of a row by its name."""
    if not isinstance(found.type, RowType):
        message = f"A value of {found.type.describe()} has no field {part.name}"
        raise SqlValidationError(message, part.span)
    names = [one.name for one in found.type.fields]
    if part.name not in names:
        raise unknown("field", part.name, names, part.span)
    at = Literal(names.index(part.name), DataTypes.INT(False))
    return resolve("FIELD", (found, at), span=part.span)


def field_at(found: Expression, position: int, span: Span) -> Expression:
    """The field of a row by its position, from 0 on."""
    if not isinstance(found.type, RowType):
        message = f"A value of {found.type.describe()} has no fields"
        raise SqlValidationError(message, span)
    if not 0 <= position < len(found.type):
        message = f"There is no field {position} in a row of {len(found.type)} fields"
        raise SqlValidationError(message, span)
    return resolve("FIELD", (found, Literal(position, DataTypes.INT(False))), span=span)


def _ambiguous(
    name: Name, part: Identifier, aliases: list[str] | None = None
) -> SqlValidationError:
    named = [alias for alias in aliases or () if alias]
    advice = f"Write which one is meant: {named[0]}.{part.name}." if named else ""
    return SqlValidationError(f"The column {part.name} is ambiguous", name.span, advice)
