"""Exactly once in Postgres: the records of a micro-batch and its mark are one transaction.

A small table holds, for each sink of each job, the mark of the last batch that was committed. A
commit first reads its row there, and locks it. If the batch is new, the commit writes the records
and the new mark, which become visible together or not at all. If the answer to a commit gets lost,
that row tells whether the commit took place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scurry.common.errors import JobError
from scurry.common.fault_points import fault_point
from scurry.connectors.postgres.connection import Connector, driver
from scurry.functions.history import Mark
from scurry.functions.sink import CommitterContext

if TYPE_CHECKING:
    import psycopg

COMMITS_TABLE = "_scurry_commits"
Work = Callable[["psycopg.Connection[Any]"], None]


class BatchCommits:
    """The commits of one sink."""

    def __init__(
        self, connector: Connector, context: CommitterContext, what: str, table: str
    ) -> None:
        self._connector = connector
        self._name = f"{context.checkpoint_id}/{context.uid}"
        self._history = context.history
        self._what = what
        self._table = identifier(table)
        self._guarded(self._create)

    def _create(self, connection: psycopg.Connection[Any]) -> None:
        sql = driver().sql
        # two jobs that make the table at once would trip over each other
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('scurry commits'))")
        connection.execute(
            sql.SQL(
                "CREATE TABLE IF NOT EXISTS {} (sink text PRIMARY KEY, batch bigint NOT NULL, "
                "changed timestamptz NOT NULL DEFAULT now(), branch text NOT NULL DEFAULT '')"
            ).format(self._table)
        )
        columns = connection.execute(
            sql.SQL("SELECT * FROM {} LIMIT 0").format(self._table)
        ).description
        if "branch" not in [column.name for column in columns or ()]:
            # the table was made by a version that did not know branches
            connection.execute(
                sql.SQL("ALTER TABLE {} ADD COLUMN branch text NOT NULL DEFAULT ''").format(
                    self._table
                )
            )
        connection.execute(
            sql.SQL("INSERT INTO {} (sink, batch) VALUES (%s, -1) ON CONFLICT DO NOTHING").format(
                self._table
            ),
            [self._name],
        )

    def mark(self) -> Mark | None:
        """The mark of the last batch, None if there is none."""
        found: Mark = self._guarded(self._read)
        return found if found.batch >= 0 else None

    def label_from_now_on(self, labels: bool) -> Mark:
        """Remember whether rows have labels; the last batch whose rows have none."""

        def remember(connection: psycopg.Connection[Any]) -> Mark:
            sql, name = driver().sql, f"{self._name}#unlabelled"
            if not labels:
                statement = sql.SQL("DELETE FROM {} WHERE sink = %s").format(self._table)
                connection.execute(statement, [name])
                return self._read(connection)
            statement = sql.SQL(
                "INSERT INTO {0} (sink, batch, branch) SELECT %s, batch, branch FROM {0} "
                "WHERE sink = %s ON CONFLICT DO NOTHING"
            ).format(self._table)
            connection.execute(statement, [name, self._name])
            return self._read(connection, name)

        found: Mark = self._guarded(remember)
        return found

    def _read(self, connection: psycopg.Connection[Any], name: str = "") -> Mark:
        query = driver().sql.SQL(
            "SELECT batch, branch, (extract(epoch from changed) * 1000)::bigint FROM {} "
            "WHERE sink = %s FOR UPDATE"
        )
        found = connection.execute(query.format(self._table), [name or self._name]).fetchone()
        if found is None:
            raise JobError(
                f"{self._what}: the row of this sink has vanished from the table of commits, so it "
                "is not known which batches were written. Do not delete from that table while a "
                "job lives."
            )
        return Mark(*found)

    def _write(self, connection: psycopg.Connection[Any], mark: Mark) -> None:
        update = driver().sql.SQL(
            "UPDATE {} SET batch = %s, branch = %s, changed = now() WHERE sink = %s"
        )
        connection.execute(update.format(self._table), [mark.batch, mark.branch, self._name])

    def go_to(self, work: Callable[[psycopg.Connection[Any]], Mark]) -> None:
        """Do ``work``, and let the last batch be the one that it returns."""
        self._guarded(lambda connection: self._write(connection, work(connection)))

    def apply(self, batch: int, work: Work) -> bool:
        """Do ``work`` as batch ``batch``; False if that batch had been committed already."""
        return bool(self._guarded(lambda connection: self._apply(connection, batch, work)))

    def _apply(self, connection: psycopg.Connection[Any], batch: int, work: Work) -> bool:
        if self._history.repeats(batch, self._read(connection)):
            return False
        work(connection)
        self._write(connection, self._history.mark(batch))
        fault_point("postgres-transaction")
        return True

    def _guarded(self, work: Callable[[psycopg.Connection[Any]], Any]) -> Any:
        psycopg = driver()
        try:
            return self._connector.run(work)
        except psycopg.Error as failure:
            raise JobError(self._explain(failure)) from failure

    def _explain(self, failure: psycopg.Error) -> str:
        text = f"{self._what}: {str(failure).strip()}"
        hint = _HINTS.get(failure.sqlstate or "", "")
        return f"{text}\n{hint}" if hint else text


_HINTS = {
    "42P10": "An upsert needs a primary key or unique index on exactly the key columns: "
    "CREATE UNIQUE INDEX ON ... (...).",
    "42P01": "Create the table before the job starts; a sink does not.",
    "42703": "The names of the records' fields must be those of the table's columns.",
    "42501": "Grant the user INSERT, UPDATE, DELETE and SELECT on the table, and CREATE on the "
    "schema for the table of commits. One that an earlier version made gets a new column, which "
    "only its owner can add: ALTER TABLE _scurry_commits ADD branch text NOT NULL DEFAULT ''.",
    "23505": "The table has a row with that key already: use PostgresSink.upsert, or remove it.",
}


def identifier(name: str) -> Any:
    """The name of a table, which may have its schema in front, quoted."""
    return driver().sql.Identifier(*name.split("."))
