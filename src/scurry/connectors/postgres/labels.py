"""Rows that say which micro-batch wrote them, so that a sink can take them back.

A column of the user's table holds a *label*: the sink, the token of the batch's branch, and the
number of the batch. Rows that were written before the table had that column have no label and
cannot be taken back. So a second row in the table of commits remembers the last batch before the
first labelled one, and the sink refuses to go back beyond it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from scurry.common.errors import OtherHistoryError
from scurry.connectors.postgres.commits import BatchCommits, identifier
from scurry.connectors.postgres.connection import driver
from scurry.functions.history import Mark
from scurry.functions.sink import CommitterContext

if TYPE_CHECKING:
    import psycopg


class RowLabels:
    """The labels of one sink in one table."""

    def __init__(
        self, context: CommitterContext, commits: BatchCommits, table: str, column: str
    ) -> None:
        name = f"{context.checkpoint_id}/{context.uid}"
        self._sink = hashlib.sha256(name.encode()).hexdigest()[:12]
        self._history = context.history
        self._commits = commits
        self._table = table
        self._column = column

    def _label(self, mark: Mark) -> str:
        return f"{self._sink}-{mark.branch}-{mark.batch}"

    def add_to(self, content: bytes, batch: int) -> bytes:
        """Rows in the form of ``COPY`` with the label of ``batch`` as one more column. A line feed
        within a value is escaped in that form, so each one ends a row."""
        label = self._label(self._history.mark(batch)).encode()
        return content.replace(b"\n", b"\t" + label + b"\n")

    def truncate(self, unlabelled: Mark) -> None:
        """Delete the rows of batches that the history does not hold; ``unlabelled`` is the last
        batch whose rows have no labels."""
        if not self._history.holds(unlabelled):
            raise OtherHistoryError(
                f"PostgresSink into {self._table!r}: rows can be taken back only to micro-batch "
                f"{unlabelled.batch}, the last one before batch_column={self._column!r} was used, "
                f"and the checkpoint stands at {self._history.last}. Mend the table by hand, and "
                "choose 'append'."
            )
        self._commits.go_to(self._delete)

    def _delete(self, connection: psycopg.Connection[Any]) -> Mark:
        sql, history = driver().sql, self._history
        strange, known = self._found(connection)
        statement = sql.SQL("DELETE FROM {} WHERE {} = ANY(%s)")
        connection.execute(statement.format(*self._names()), [strange])
        pending = history.mark(history.planned)
        return pending if self._label(pending) in known else history.mark(history.last)

    def accept(self, mark: Mark) -> None:
        """Let the rows of other histories be rows of the batch ``mark``, and go on after it."""

        def relabel(connection: psycopg.Connection[Any]) -> Mark:
            statement = driver().sql.SQL("UPDATE {0} SET {1} = %s WHERE {1} = ANY(%s)")
            strange, _ = self._found(connection)
            connection.execute(statement.format(*self._names()), [self._label(mark), strange])
            return mark

        self._commits.go_to(relabel)

    def _names(self) -> tuple[Any, Any]:
        return identifier(self._table), driver().sql.Identifier(self._column)

    def _found(self, connection: psycopg.Connection[Any]) -> tuple[list[str], list[str]]:
        """The labels of this sink in the table: of batches that the history does not hold, and of
        those that it does."""
        table, column = self._names()
        query = driver().sql.SQL("SELECT DISTINCT {1} FROM {0} WHERE {1} LIKE %s")
        found = connection.execute(query.format(table, column), [f"{self._sink}-%"]).fetchall()
        strange: list[str] = []
        known: list[str] = []
        for (label,) in found:
            _, branch, batch = label.split("-")
            held = self._history.holds(Mark(int(batch), branch))
            (known if held else strange).append(label)
        return strange, known
