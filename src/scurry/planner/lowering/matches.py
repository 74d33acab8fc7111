"""MATCH_RECOGNIZE for workers: what is read from the rows of a match becomes columns."""

from __future__ import annotations

from collections.abc import Callable

from scurry.functions.aggregate_calls import AggregateCall
from scurry.functions.expressions import Expression, InputRef, SessionExpression, rewrite
from scurry.functions.match_calls import (
    AggregateRead,
    MatchExpression,
    MatchSpec,
    RowRead,
    TimeRead,
)
from scurry.functions.udfs.wrappers import UserDefinedFunctionWrapper
from scurry.planner.algebra import Match
from scurry.planner.pattern_refs import MatchTime, PatternAggregate, PatternRef

#: An expression with what the session says of its evaluation.
Session = Callable[[Expression], SessionExpression]


def lowered_match(node: Match, session: Session) -> MatchSpec:
    """The clause as workers need it."""
    defined = zip(node.variables, node.conditions, strict=True)
    return MatchSpec(
        node.steps,
        tuple((name, lowered_expression(one, session)) for name, one in defined),
        tuple(lowered_expression(one, session) for one in node.measures),
        *node.skip,
        node.within,
    )


def lowered_expression(tree: Expression, session: Session) -> MatchExpression:
    """A condition or a measure as workers need it."""
    reads: list[RowRead | AggregateRead] = []

    def column(one: Expression) -> Expression:
        if isinstance(one, PatternRef):
            kind = TimeRead if isinstance(one, MatchTime) else RowRead
            read: RowRead | AggregateRead = kind(one.index, one.variable, one.offset, one.from_last)
        elif isinstance(one, PatternAggregate):
            read = _aggregate(one, session)
        else:
            return one
        if read not in reads:
            reads.append(read)
        return InputRef(reads.index(read), one.type, span=one.span)

    made = rewrite(tree, column)
    return MatchExpression(session(made), tuple(reads))


def _aggregate(one: PatternAggregate, session: Session) -> AggregateRead:
    function = one.function
    if isinstance(function, UserDefinedFunctionWrapper):
        function = function.function()
    call = AggregateCall(
        function,
        tuple(range(len(one.arguments))),
        one.type.arrow_type(),
        constants=one.constants,
    )
    return AggregateRead(call, tuple(map(session, one.arguments)), one.variable)
