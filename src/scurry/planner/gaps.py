"""What Scurry's SQL cannot run: one table, from which the errors and the documentation are made.

A gap has a key, what it is called in a message, and what can be done instead. The binder and the
passes raise :func:`refuse` with the key and the place in the text.
"""

from __future__ import annotations

from dataclasses import dataclass

from scurry.common.spans import Span
from scurry.planner.errors import SqlNotSupportedError


@dataclass(frozen=True)
class Gap:
    """Something that is refused: ``what`` is the subject of "... is not supported"."""

    what: str
    instead: str


GAPS: dict[str, Gap] = {
    "match-all-rows": Gap("ALL ROWS PER MATCH", "Use ONE ROW PER MATCH with measures."),
    "match-subset": Gap("SUBSET", "Name each variable."),
    "match-anchor": Gap("^ or $ in a pattern", "A stream has no end; use WITHIN."),
    "match-group": Gap(
        "Alternatives, PERMUTE, exclusion or a repeated group in a pattern",
        "Use variables one after the other, or scurry.cep on the DataStream.",
    ),
    "match-reluctant-optional": Gap("A reluctant optional variable", "Write A? without the ?."),
    "match-physical-offset": Gap("PREV or NEXT", "Use LAST(A.price, 1) or FIRST(A.price, 1)."),
    "match-semantics": Gap(
        "RUNNING or FINAL here",
        "Leave it out: measures are those of the whole match, conditions those of the rows so far.",
    ),
    "match-distinct": Gap("DISTINCT in MATCH_RECOGNIZE", "Aggregate the matches in another query."),
    "match-filter": Gap("FILTER in MATCH_RECOGNIZE", "Use a variable of its own for such rows."),
    "match-updates": Gap(
        "MATCH_RECOGNIZE on a table that is updated", "Apply it before the aggregation."
    ),
    "recursive": Gap("WITH RECURSIVE", "Write the steps of the recursion one after the other."),
    "tablesample": Gap("TABLESAMPLE", "Filter by a hash of a column, such as MOD(HASH, 10) = 0."),
    "pattern-function": Gap("RUNNING and FINAL", "They belong to MATCH_RECOGNIZE."),
    "within-group": Gap("WITHIN GROUP", "Collect the values with ARRAY_AGG and sort the array."),
    "aggregate-order": Gap("ORDER BY within an aggregate", "Sort the array of ARRAY_AGG."),
    "query-constructor": Gap("A collection of a query's rows", "Use ARRAY_AGG or COLLECT in it."),
    "multiset-operator": Gap("An operator on multisets", "UNNEST the multisets and join them."),
    "like-variant": Gap("This comparison of texts", "Use LIKE with LOWER, or REGEXP."),
    "model": Gap("A model as argument", "Call the model in a Python function."),
    "table-argument": Gap("A table as argument of this function", "Use LATERAL TABLE(f(column))."),
    "nested-subquery": Gap(
        "A query here that mentions both sides of an outer join",
        "Join it in FROM, or let it mention the columns of one side only.",
    ),
    "correlated": Gap(
        "This way to refer to columns of the query around it",
        "Compare the outer columns with = in the WHERE of the inner query.",
    ),
    "over-frame": Gap(
        "This frame of rows on a stream",
        "Let the frame end at CURRENT ROW; in the order of time it may begin n PRECEDING.",
    ),
    "over-order": Gap(
        "OVER on a stream without an ORDER BY of one column, ascending",
        "Order by one column, ascending, compare a rank with a constant, or use batch mode.",
    ),
    "over-function": Gap(
        "LEAD, NTILE, CUME_DIST or PERCENT_RANK on a stream",
        "Use batch mode: EnvironmentSettings.in_batch_mode().",
    ),
    "over-updates": Gap("OVER on a table that is updated", "Apply it before the aggregation."),
    "sort": Gap(
        "ORDER BY on a stream without LIMIT, unless by event time, or by processing time alone",
        "Add LIMIT, or order by the rowtime column, ascending.",
    ),
    "offset-only": Gap("OFFSET without LIMIT on a stream", "Add LIMIT."),
    "session-rows": Gap(
        "SESSION of a table that is updated, without an aggregation",
        "GROUP BY window_start and window_end.",
    ),
    "temporal-version": Gap(
        "FOR SYSTEM_TIME AS OF on a table without primary key and watermark",
        "Declare PRIMARY KEY ... NOT ENFORCED and WATERMARK FOR.",
    ),
    "temporal-processing-time": Gap(
        "FOR SYSTEM_TIME AS OF processing time on a table that cannot be looked up",
        "Use the rowtime of the left table, or a connector with look-ups.",
    ),
    "changelog-batch": Gap(
        "TO_CHANGELOG or FROM_CHANGELOG in batch mode",
        "Use EnvironmentSettings.in_streaming_mode().",
    ),
    "changelog-updates": Gap(
        "FROM_CHANGELOG of a table that is updated", "Apply it to a table of insertions only."
    ),
    "aggregate-updates": Gap(
        "An aggregate function without retract on a table that is updated",
        "Give it a method retract(accumulator, ...), or apply it to a table of insertions only.",
    ),
    "partial-columns": Gap(
        "INSERT of some columns where the others are NOT NULL", "Give values for all columns."
    ),
}


def refuse(key: str, span: Span, what: str = "") -> SqlNotSupportedError:
    """The error for the gap ``key`` at a place; ``what`` replaces its general name."""
    gap = GAPS[key]
    return SqlNotSupportedError(f"{what or gap.what} is not supported", span, gap.instead)
