"""Parts of conditions that were given as expressions.

An expression is cut at its ANDs. Each part is bound by the rules of MATCH_RECOGNIZE's DEFINE, with
the steps of the pattern as variables. The types of fields are those that the stream declares; if it
declares none, a part is bound for the types that the values at hand have, once for each
combination. NULL is neither true nor false: a part holds only if it is true.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from scurry.automaton.conditions import Expressed
from scurry.automaton.errors import MalformedPatternError
from scurry.cep.event_fields import EventFields, FieldError, type_of_values
from scurry.cep.typed_parts import TypedPart
from scurry.common.data_types import DataType, DataTypes, NullType
from scurry.common.errors import NotSupportedError, ProgramError
from scurry.common.spans import Span
from scurry.functions.builtin import Kind, find
from scurry.functions.expressions import SessionExpression
from scurry.planner.bind.matching import MatchRowsBinder
from scurry.planner.bind.scope import Scope
from scurry.planner.columns import Column
from scurry.planner.errors import unknown
from scurry.planner.lowering.matches import lowered_expression
from scurry.planner.simplify_expressions import simplified
from scurry.runtime.expressions import EvaluationError
from scurry.runtime.relational.match_reads import events_of
from scurry.sql import ast
from scurry.sql.parser import parse_expression
from scurry.sql.unparse import unparse

#: Functions that say which event is meant.
_NAVIGATION = ("FIRST", "LAST", "PREV", "NEXT")
#: Stands for the event in question, where a step is named otherwise.
_CURRENT = "\x00"
#: What a field can be of which nothing but nulls was seen.
_ANY: tuple[DataType, ...] = (
    DataTypes.BIGINT(),
    DataTypes.STRING(),
    DataTypes.BOOLEAN(),
    DataTypes.TIMESTAMP(6),
    DataTypes.TIMESTAMP_LTZ(6),
    DataTypes.BYTES(),
    NullType(),
)
_FAILURES = (EvaluationError, pa.ArrowException, ArithmeticError, TypeError, ValueError)


class _NoCatalog:
    """Expressions of patterns know built-in functions, and those that a program puts into them."""

    batch = False

    def find_table(self, names: tuple[str, ...]) -> None:
        return None

    def table_names(self) -> Iterable[str]:
        return ()

    def find_function(self, names: tuple[str, ...]) -> None:
        return None

    def function_names(self) -> Iterable[str]:
        return ()


class _Read(NamedTuple):
    """A name in an expression: the field, the step whose events it is of (None if none is named),
    and whether a function around it says which of several events is meant."""

    field: str
    step: str | None
    moved: bool
    span: Span


def parsed(given: Expressed) -> ast.Expression:
    """The syntax tree of an expression."""
    if not isinstance(given.given, str):
        node: ast.Expression = given.given.node
        return node
    try:
        return parse_expression(given.given)
    except ProgramError as failure:
        raise refused(given, failure) from None


def parts_of(
    given: Expressed, steps: tuple[str, ...], fields: EventFields
) -> tuple[ConditionPart, ...]:
    """The parts of an expression, all of which must be true."""
    return tuple(ConditionPart(one, given, steps, fields) for one in _conjuncts(parsed(given)))


def refused(given: Expressed, failure: object, what: str = "cannot be used") -> ProgramError:
    """The error for an expression, in a sentence that says where it stands."""
    place = f"The {given.where} condition of the step {given.step!r}"
    return MalformedPatternError(f"{place}, {given.given}, {what}: {failure}")


class ConditionPart:
    """A part of the expression ``given``, in a pattern with these ``steps``."""

    def __init__(
        self, node: ast.Expression, given: Expressed, steps: tuple[str, ...], fields: EventFields
    ) -> None:
        self._node = node
        self._given = given
        self._steps = steps
        self._fields = fields
        # the condition of until is about an event that is of no step
        self._step = "" if given.where == "until" else given.step
        reads = list(_reads(node, steps))
        self.names = tuple(dict.fromkeys(read.field for read in reads))
        self._sources = dict.fromkeys(map(self._source, reads))
        #: whether it looks at the event in question only, and always says the same of it
        self.alone = all(step == _CURRENT for _, step in self._sources) and not _varies(node)
        self._typed: dict[tuple[DataType, ...], TypedPart | ProgramError] = {}
        self._check_names(reads)
        #: the part for the declared types, if there are any
        self.declared: TypedPart | None = None
        if fields.types is not None:
            self.declared = self.typed(tuple(fields.types[name] for name in self.names))

    def __str__(self) -> str:
        return unparse(self._node)

    def _source(self, read: _Read) -> tuple[str, str | None]:
        """A field, and the step whose events it is read from."""
        current = not read.moved and read.step in (None, self._step)
        return read.field, _CURRENT if current else read.step

    def _check_names(self, reads: list[_Read]) -> None:
        known = self._fields.names
        for read in reads:
            if known is not None and read.field not in known:
                raise refused(self._given, unknown("field", read.field, known, read.span))

    def typed(self, types: tuple[DataType, ...]) -> TypedPart:
        """The part for fields of these types."""
        found = self._typed.get(types)
        if found is None:
            found = self._typed[types] = self._fitting(types)
        if isinstance(found, ProgramError):
            raise found
        return found

    def _fitting(self, types: tuple[DataType, ...]) -> TypedPart | ProgramError:
        """The part for these types, or the error that it is. A field of which nothing but nulls
        was seen may be of any type: what an expression says of NULL does not depend on it."""
        refusal: ProgramError | None = None
        untyped = any(isinstance(kind, NullType) for kind in types)
        for any_type in _ANY if untyped else _ANY[:1]:
            tried = tuple(any_type if isinstance(kind, NullType) else kind for kind in types)
            try:
                return self._bound(tried)
            except (ProgramError, NotSupportedError) as failure:
                refusal = refusal or refused(self._given, failure)
        assert refusal is not None
        return refusal

    def _bound(self, types: tuple[DataType, ...]) -> TypedPart:
        pairs = zip(self.names, types, strict=True)
        scope = Scope.of("", tuple(Column(name, kind.nullable()) for name, kind in pairs))
        binder = MatchRowsBinder(scope, _NoCatalog(), self._steps, None, self._step)
        tree = simplified(binder.condition(self._node, "It"))
        bound = lowered_expression(tree, SessionExpression)
        return TypedPart(bound, self._step, self.names, types, self._fields)

    def holds(self, value: Any, turn: Any = None) -> bool:
        """Whether it is true for an event at a partial match."""
        try:
            return self._at_hand(value, turn).holds(value, turn)
        except FieldError as failure:
            raise refused(self._given, failure) from None
        except MalformedPatternError:
            # says already which condition it is
            raise
        except _FAILURES as failure:
            raise refused(self._given, failure, "failed") from failure

    def _at_hand(self, value: Any, turn: Any) -> TypedPart:
        """The part for the types of what it reads now."""
        if self.declared is not None:
            return self.declared
        values: dict[str, list[Any]] = {name: [] for name in self.names}
        for name, step in self._sources:
            events = [value] if step == _CURRENT else events_of(step, self._step)(value, turn)
            values[name] += map(self._fields.reader(name), events)
        return self.typed(tuple(type_of_values(name, found) for name, found in values.items()))

    def close(self) -> None:
        """Close functions of the user's."""
        for one in self._typed.values():
            if isinstance(one, TypedPart):
                one.close()


def _conjuncts(node: ast.Expression) -> Iterator[ast.Expression]:
    if isinstance(node, ast.Logical) and node.operator == "AND":
        for operand in node.operands:
            yield from _conjuncts(operand)
    else:
        yield node


def _reads(node: ast.Node, steps: tuple[str, ...], moved: bool = False) -> Iterator[_Read]:
    """The fields that an expression names."""
    if isinstance(node, ast.Name):
        parts = node.parts
        step = parts[0].name if len(parts) > 1 and parts[0].name in steps else None
        field = parts[0] if step is None else parts[1]
        yield _Read(field.name, step, moved, field.span)
        return
    called = isinstance(node, ast.FunctionCall)
    for child in node.children():
        if not (called and child is node.name):  # type: ignore[attr-defined]
            yield from _reads(child, steps, moved or (called and _moves(node)))


def _moves(call: ast.Node) -> bool:
    """Whether a function reads other events than the one in question."""
    assert isinstance(call, ast.FunctionCall)
    name = str(call.name).upper()
    entry = find(name)
    return name in _NAVIGATION or (entry is not None and entry.kind is Kind.AGGREGATE)


def _varies(node: ast.Expression) -> bool:
    """Whether an expression may say something else when it is asked again, or counts events."""
    for one in ast.walk(node):
        if isinstance(one, ast.FunctionCall):
            entry = find(str(one.name))
            known = entry is not None and entry.deterministic and one.function is None
            if _moves(one) or not known:
                return True
    return False
