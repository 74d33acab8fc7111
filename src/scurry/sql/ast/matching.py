"""MATCH_RECOGNIZE: a search for patterns in the rows of a relation."""

from __future__ import annotations

from dataclasses import dataclass

from scurry.sql.ast.expressions import IntervalLiteral, OrderItem
from scurry.sql.ast.node import Expression, Identifier, Node
from scurry.sql.ast.queries import Relation


@dataclass(frozen=True)
class Pattern(Node):
    """Part of a pattern."""


@dataclass(frozen=True)
class PatternVariable(Pattern):
    """A variable of the pattern: a row for which its condition holds."""

    name: Identifier


@dataclass(frozen=True)
class PatternGroup(Pattern):
    """Patterns one after the other (``SEQUENCE``), one of several (``ALTERNATIVES``), in any order
    (``PERMUTE``), or excluded from the result (``EXCLUSION``)."""

    kind: str
    items: tuple[Pattern, ...]


@dataclass(frozen=True)
class PatternRepetition(Pattern):
    """A pattern ``least`` to ``most`` times; None for no bound. A reluctant one takes as few as
    it can."""

    item: Pattern
    least: int
    most: int | None
    reluctant: bool = False


@dataclass(frozen=True)
class Measure(Node):
    """``expression AS name``."""

    expression: Expression
    name: Identifier


@dataclass(frozen=True)
class PatternDefinition(Node):
    """``A AS condition``."""

    name: Identifier
    condition: Expression


@dataclass(frozen=True)
class PatternSubset(Node):
    """``U = (A, B)``."""

    name: Identifier
    variables: tuple[Identifier, ...]


@dataclass(frozen=True)
class AfterMatch(Node):
    """Where to go on: ``NEXT ROW``, ``PAST LAST ROW``, ``FIRST`` or ``LAST`` of a variable."""

    kind: str
    variable: Identifier | None = None


@dataclass(frozen=True)
class MatchRecognize(Relation):
    """The whole clause. ``rows`` is ``ONE ROW PER MATCH``, ``ALL ROWS PER MATCH`` or nothing."""

    relation: Relation
    pattern: Pattern
    definitions: tuple[PatternDefinition, ...]
    partition_by: tuple[Expression, ...] = ()
    order_by: tuple[OrderItem, ...] = ()
    measures: tuple[Measure, ...] = ()
    rows: str = ""
    after: AfterMatch | None = None
    anchored_start: bool = False
    anchored_end: bool = False
    within: IntervalLiteral | None = None
    subsets: tuple[PatternSubset, ...] = ()
