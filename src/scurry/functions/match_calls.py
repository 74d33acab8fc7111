"""What MATCH_RECOGNIZE is made of: steps of a pattern, conditions and measures over its rows.

All of these are frozen values that can be pickled, compared and hashed. The rows of a match are
known by the *variable* that they were matched to; None stands for all rows of the match. In the
condition of a variable the row in question counts as the last row of that variable.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from scurry.functions.aggregate_calls import AggregateCall
from scurry.functions.expressions.trees import SessionExpression


@dataclass(frozen=True)
class PatternStep:
    """Rows of a variable, ``least`` to ``most`` of them (None: no bound), one right behind the
    other: as many as possible if it is ``greedy``, else as few."""

    variable: str
    least: int = 1
    most: int | None = 1
    greedy: bool = True

    @property
    def single(self) -> bool:
        """Whether there is exactly one row."""
        return (self.least, self.most) == (1, 1)


@dataclass(frozen=True)
class RowRead:
    """A column of one row: the ``offset``-th row of a variable, from the last one or from the
    first. Null if there are not so many."""

    column: int
    variable: str | None
    offset: int = 0
    from_last: bool = True

    def is_current(self, defined: str) -> bool:
        """Whether it is the row in question, in the condition of the variable ``defined``."""
        return self.from_last and not self.offset and self.variable in (None, defined)

    def words(self, columns: pa.Schema) -> str:
        """The read as it is written."""
        name = columns.names[self.column]
        name = name if self.variable is None else f"{self.variable}.{name}"
        if self.from_last and not self.offset:
            return name
        return f"{'LAST' if self.from_last else 'FIRST'}({name}, {self.offset})"


@dataclass(frozen=True)
class TimeRead(RowRead):
    """The time at which a match was found, as a value of the time column. That is the time of its
    last row, or later where a match that began before was still possible: it decides which matches
    are skipped."""

    def words(self, columns: pa.Schema) -> str:
        return "MATCH_ROWTIME()"


@dataclass(frozen=True)
class AggregateRead:
    """An aggregate over the rows of a variable. The arguments of ``call`` are indexes of
    ``arguments``, which are over the columns of the input."""

    call: AggregateCall
    arguments: tuple[SessionExpression, ...]
    variable: str | None


@dataclass(frozen=True)
class MatchExpression:
    """An expression over what is read from the rows of a match, each read being a column."""

    tree: SessionExpression
    reads: tuple[RowRead | AggregateRead, ...]


@dataclass(frozen=True)
class MatchSpec:
    """The whole clause. ``skip`` is ``NEXT ROW``, ``PAST LAST ROW``, ``FIRST`` or ``LAST``, the
    latter two of ``skip_to``."""

    steps: tuple[PatternStep, ...]
    definitions: tuple[tuple[str, MatchExpression], ...]
    measures: tuple[MatchExpression, ...]
    skip: str
    skip_to: str = ""
    within_ms: int | None = None


def pattern_words(steps: tuple[PatternStep, ...]) -> str:
    """A pattern as it is written."""
    return " ".join(f"{step.variable}{_quantifier(step)}" for step in steps)


def _quantifier(step: PatternStep) -> str:
    if step.single:
        return ""
    most = "" if step.most is None else step.most
    known = {(0, None): "*", (1, None): "+", (0, 1): "?"}
    counts = f"{{{step.least}}}" if step.least == most else f"{{{step.least},{most}}}"
    return known.get((step.least, step.most), counts) + ("" if step.greedy else "?")
