"""Exactly once in Postgres: the records of a micro-batch and its mark are one transaction.

A small table holds, for each sink of each job, the mark of the last batch that was committed. A
commit first reads its row there, and locks it. If the batch is new, the commit writes the records
and the new mark, which become visible together or not at all. If the answer to a commit gets lost,
that row tells whether the commit took place.

The row also has the epoch of the lease of the driver that entered last. A driver that was paused,
and finds a greater epoch there than its own, writes nothing: it compares while it holds the lock on
the row, so there is no moment between. If it was paused while it held that lock, the driver that
enters has the server end the transaction.
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
_WAIT_FOR_LOCK = "SET LOCAL lock_timeout = '2s'"
#: The transaction that has locked a row is named in it, until somebody else locks it.
_END_LOCKER = (
    "SELECT pg_terminate_backend(held.pid) FROM {} AS own JOIN pg_locks AS held ON held.granted "
    "AND held.locktype = 'transactionid' AND held.transactionid::text = own.xmax::text "
    "WHERE own.sink = %s AND held.pid <> pg_backend_pid()"
)
#: Columns that earlier versions did not have.
_LATER_COLUMNS = {
    "branch": "text NOT NULL DEFAULT ''",
    "lease": "bigint NOT NULL DEFAULT 0",
}


class BatchCommits:
    """The commits of one sink."""

    def __init__(
        self, connector: Connector, context: CommitterContext, what: str, table: str
    ) -> None:
        self._connector = connector
        self._name = f"{context.checkpoint_id}/{context.uid}"
        self._history = context.history
        self._lease = context.lease
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
                "changed timestamptz NOT NULL DEFAULT now(), branch text NOT NULL DEFAULT '', "
                "lease bigint NOT NULL DEFAULT 0)"
            ).format(self._table)
        )
        columns = connection.execute(
            sql.SQL("SELECT * FROM {} LIMIT 0").format(self._table)
        ).description
        for name, kind in _LATER_COLUMNS.items():
            if name not in [column.name for column in columns or ()]:
                # the table was made by an earlier version
                connection.execute(
                    sql.SQL(f"ALTER TABLE {{}} ADD COLUMN {name} {kind}").format(self._table)
                )
        known = sql.SQL("SELECT FROM {} WHERE sink = %s").format(self._table)
        if connection.execute(known, [self._name]).fetchone() is None:
            # not always: it would wait for a transaction that is about to change the row
            added = "INSERT INTO {} (sink, batch) VALUES (%s, -1) ON CONFLICT DO NOTHING"
            connection.execute(sql.SQL(added).format(self._table), [self._name])

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
        *mark, _ = self._row(connection, name or self._name, lock=False)
        return Mark(*mark)

    def enter(self) -> None:
        """From now on drivers with an older lease are kept out."""

        def work(connection: psycopg.Connection[Any]) -> None:
            self._enter(connection)
            update = driver().sql.SQL("UPDATE {} SET lease = %s WHERE sink = %s")
            connection.execute(update.format(self._table), [self._lease.epoch, self._name])

        self._guarded(work)

    def _enter(self, connection: psycopg.Connection[Any]) -> None:
        """Lock the row, and make sure that no later driver has entered."""
        psycopg = driver()
        while self._lease.epoch:
            try:
                with connection.transaction():
                    connection.execute(_WAIT_FOR_LOCK)
                    self._row(connection, self._name)
                break
            except psycopg.errors.LockNotAvailable:
                # whoever holds it does not have the lease, if this driver has it
                self._lease.check()
                ended = psycopg.sql.SQL(_END_LOCKER).format(self._table)
                connection.execute(ended, [self._name])
        self._lease.enter(self._row(connection, self._name)[-1])

    def _row(
        self, connection: psycopg.Connection[Any], name: str, lock: bool = True
    ) -> tuple[Any, ...]:
        """Number, branch and time of the last batch, and the epoch of the lease."""
        query = driver().sql.SQL(
            "SELECT batch, branch, (extract(epoch from changed) * 1000)::bigint, lease FROM {} "
            "WHERE sink = %s" + (" FOR UPDATE" if lock else "")
        )
        found = connection.execute(query.format(self._table), [name]).fetchone()
        if found is None:
            raise JobError(
                f"{self._what}: the row of this sink has vanished from the table of commits, so it "
                "is not known which batches were written. Do not delete from that table while a "
                "job lives."
            )
        row: tuple[Any, ...] = found
        return row

    def _write(self, connection: psycopg.Connection[Any], mark: Mark) -> None:
        update = driver().sql.SQL(
            "UPDATE {} SET batch = %s, branch = %s, lease = %s, changed = now() WHERE sink = %s"
        )
        values = [mark.batch, mark.branch, self._lease.epoch, self._name]
        connection.execute(update.format(self._table), values)

    def go_to(self, work: Callable[[psycopg.Connection[Any]], Mark]) -> None:
        """Do ``work``, and let the last batch be the one that it returns."""

        def entering(connection: psycopg.Connection[Any]) -> None:
            self._enter(connection)
            self._write(connection, work(connection))

        self._guarded(entering)

    def apply(self, batch: int, work: Work) -> bool:
        """Do ``work`` as batch ``batch``; False if that batch had been committed already."""
        return bool(self._guarded(lambda connection: self._apply(connection, batch, work)))

    def _apply(self, connection: psycopg.Connection[Any], batch: int, work: Work) -> bool:
        *mark, lease = self._row(connection, self._name)
        self._lease.admit(lease)
        if self._history.repeats(batch, Mark(*mark)):
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
    "schema for the table of commits. One that an earlier version made gets new columns, which "
    "only its owner can add: ALTER TABLE _scurry_commits ADD branch text NOT NULL DEFAULT '', "
    "ADD lease bigint NOT NULL DEFAULT 0.",
    "23505": "The table has a row with that key already: use PostgresSink.upsert, or remove it.",
}


def identifier(name: str) -> Any:
    """The name of a table, which may have its schema in front, quoted."""
    return driver().sql.Identifier(*name.split("."))
