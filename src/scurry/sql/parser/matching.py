"""MATCH_RECOGNIZE."""

from __future__ import annotations

from scurry.sql.ast.expressions import IntervalLiteral
from scurry.sql.ast.matching import (
    AfterMatch,
    MatchRecognize,
    Measure,
    Pattern,
    PatternDefinition,
    PatternGroup,
    PatternRepetition,
    PatternSubset,
    PatternVariable,
)
from scurry.sql.ast.node import Expression
from scurry.sql.ast.queries import Relation
from scurry.sql.errors import SqlParserError
from scurry.sql.parser.expressions import ExpressionParser

_REPETITIONS = {"*": (0, None), "+": (1, None), "?": (0, 1)}


class MatchParser(ExpressionParser):
    """Parses the clause."""

    def match_recognize(self, relation: Relation) -> Relation:
        """The clause after a relation."""
        self.expect("MATCH_RECOGNIZE")
        self.expect_symbol("(")
        partition_by: tuple[Expression, ...] = ()
        if self.accept("PARTITION", "BY"):
            partition_by = self.listed(self.expression)
        order_by = self.order_by() if self.at("ORDER") else ()
        measures = self.listed(self._measure) if self.accept("MEASURES") else ()
        rows, after = self._rows(), self._after()
        self.expect("PATTERN")
        self.expect_symbol("(")
        anchored_start = self.accept_symbol("^")
        pattern = self._alternatives()
        anchored_end = self.accept_symbol("$")
        self.expect_symbol(")")
        within = self._within() if self.accept("WITHIN") else None
        subsets = self.listed(self._subset) if self.accept("SUBSET") else ()
        self.expect("DEFINE")
        definitions = self.listed(self._definition)
        self.expect_symbol(")")
        return MatchRecognize(
            relation, pattern, definitions, partition_by, order_by, measures, rows, after,
            anchored_start, anchored_end, within, subsets, span=self.since(relation.span.start),
        )  # fmt: skip

    def _measure(self) -> Measure:
        start = self.start
        expression = self.expression()
        self.expect("AS")
        return Measure(expression, self.identifier(), span=self.since(start))

    def _rows(self) -> str:
        if self.accept("ONE", "ROW", "PER", "MATCH"):
            return "ONE ROW PER MATCH"
        return "ALL ROWS PER MATCH" if self.accept("ALL", "ROWS", "PER", "MATCH") else ""

    def _after(self) -> AfterMatch | None:
        start = self.start
        if not self.accept("AFTER", "MATCH"):
            return None
        self.expect("SKIP")
        if self.accept("PAST", "LAST", "ROW"):
            return AfterMatch("PAST LAST ROW", span=self.since(start))
        self.expect("TO")
        if self.accept("NEXT", "ROW"):
            return AfterMatch("NEXT ROW", span=self.since(start))
        kind = self.accept_any("FIRST", "LAST") or "LAST"
        return AfterMatch(kind, self.identifier(), span=self.since(start))

    def _within(self) -> IntervalLiteral:
        found = self.interval()
        if not isinstance(found, IntervalLiteral):
            raise SqlParserError(
                "WITHIN needs a constant interval",
                found.span,
                advice="Write the number as a string: INTERVAL '10' MINUTE.",
            )
        return found

    def _subset(self) -> PatternSubset:
        name = self.identifier()
        self.expect_symbol("=")
        return PatternSubset(name, self.identifiers(), span=self.since(name.span.start))

    def _definition(self) -> PatternDefinition:
        name = self.identifier()
        self.expect("AS")
        return PatternDefinition(name, self.expression(), span=self.since(name.span.start))

    # --- patterns -----------------------------------------------------------------------------

    def _alternatives(self) -> Pattern:
        self.enter()
        start = self.start
        found = [self._sequence()]
        while self.accept_symbol("|"):
            found.append(self._sequence())
        self.leave()
        if len(found) == 1:
            return found[0]
        return PatternGroup("ALTERNATIVES", tuple(found), span=self.since(start))

    def _sequence(self) -> Pattern:
        start = self.start
        found = [self._repeated()]
        while self.at_name() or self.at("PERMUTE") or self.at_symbol("(", "{"):
            found.append(self._repeated())
        if len(found) == 1:
            return found[0]
        return PatternGroup("SEQUENCE", tuple(found), span=self.since(start))

    def _repeated(self) -> Pattern:
        start = self.start
        item = self._pattern_item()
        if self.at_symbol(*_REPETITIONS):
            least, most = _REPETITIONS[self.take().text]
        elif self.at_symbol("{") and not self.symbol_ahead("-"):
            least, most = self._counts()
        else:
            return item
        reluctant = self.accept_symbol("?")
        return PatternRepetition(item, least, most, reluctant, span=self.since(start))

    def _counts(self) -> tuple[int, int | None]:
        """``{n}``, ``{n,}``, ``{,m}`` or ``{n,m}``."""
        self.expect_symbol("{")
        least = 0 if self.at_symbol(",") else self.integer()
        most: int | None = least
        if self.accept_symbol(","):
            most = None if self.at_symbol("}") else self.integer()
        self.expect_symbol("}")
        return least, most

    def _pattern_item(self) -> Pattern:
        start = self.start
        if self.accept_symbol("("):
            found = self._alternatives()
            self.expect_symbol(")")
            return found
        if self.accept_symbol("{"):
            self.expect_symbol("-")
            inner = self._alternatives()
            self.expect_symbol("-")
            self.expect_symbol("}")
            return PatternGroup("EXCLUSION", (inner,), span=self.since(start))
        if self.accept("PERMUTE"):
            items = self.in_parentheses(self._alternatives)
            return PatternGroup("PERMUTE", items, span=self.since(start))
        return PatternVariable(self.identifier(), span=self.since(start))
