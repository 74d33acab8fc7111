"""`PostgresSink`: records into a table, exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from scurry.common.errors import ProgramError, TypeMismatchError, shorten
from scurry.common.types import Row, RowKind
from scurry.connectors.patience import DEFAULT_SECONDS
from scurry.connectors.postgres.commits import COMMITS_TABLE, BatchCommits, identifier
from scurry.connectors.postgres.connection import Connector, driver, server_of
from scurry.connectors.postgres.copy_text import encode
from scurry.connectors.postgres.labels import RowLabels
from scurry.connectors.records import names_of, values_of
from scurry.functions.history import Mark
from scurry.functions.sink import CommitterContext, Sink, SinkWriter, WriterContext

if TYPE_CHECKING:
    import psycopg


class Staged(NamedTuple):
    """What a writer sends to the driver: rows in the form of ``COPY``."""

    writer: int
    columns: tuple[str, ...]
    content: bytes


class PostgresSink(Sink):
    """Writes records to a table of Postgres; made with :meth:`append` or :meth:`upsert`.

    Records are Rows, tuples, dicts, named tuples or dataclasses. ``columns`` names the columns in
    the order of the fields; without it the records must have names. For ``patience_seconds`` a
    server may be away without the job failing.
    """

    def __init__(
        self,
        dsn: str,
        table: str,
        key: Sequence[str] | None,
        columns: Sequence[str] | None,
        patience_seconds: float,
        commits_table: str,
        batch_column: str | None = None,
    ) -> None:
        self._server = server_of(dsn)
        self._dsn = dsn
        self._table = table
        self._key = None if key is None else tuple(key)
        self._columns = None if columns is None else tuple(columns)
        self.insertions_only = key is None
        self._patience_seconds = patience_seconds
        self._commits_table = commits_table
        self._batch_column = batch_column
        if not isinstance(table, str) or not table:
            raise ProgramError(f"PostgresSink needs the name of a table, got {table!r}.")
        for name, given in (("key", key), ("columns", columns)):
            if isinstance(given, str) or (given is not None and not given):
                raise ProgramError(
                    f"PostgresSink: {name} is a list of column names, got {given!r}."
                )
        known = self._columns or self._key or ()
        missing = [name for name in self._key or () if name not in known]
        if missing:
            raise ProgramError(
                f"PostgresSink: the key column {missing[0]!r} is not among the columns "
                f"{list(self._columns or ())}."
            )
        if batch_column is not None and batch_column in (self._columns or ()):
            raise ProgramError(
                f"PostgresSink: the batch_column {batch_column!r} is among the columns; it must be "
                "one that only the sink writes."
            )
        self._connector: Connector | None = None
        self._commits: BatchCommits | None = None
        self._labels: RowLabels | None = None
        self._unlabelled = Mark(-1)

    @staticmethod
    def append(
        dsn: str,
        table: str,
        columns: Sequence[str] | None = None,
        *,
        patience_seconds: float = DEFAULT_SECONDS,
        commits_table: str = COMMITS_TABLE,
        batch_column: str | None = None,
    ) -> PostgresSink:
        """Insert every record as a new row. ``batch_column``, of type ``text``, is filled with a
        label that says which micro-batch wrote the row, so that rows can be taken back when the
        job goes on from an older copy of its checkpoint."""
        return PostgresSink(
            dsn, table, None, columns, patience_seconds, commits_table, batch_column
        )

    @staticmethod
    def upsert(
        dsn: str,
        table: str,
        key: Sequence[str],
        columns: Sequence[str] | None = None,
        *,
        patience_seconds: float = DEFAULT_SECONDS,
        commits_table: str = COMMITS_TABLE,
    ) -> PostgresSink:
        """Keep the last record of each key. Of Rows the kind counts: ``DELETE`` removes the row of
        that key, ``UPDATE_BEFORE`` is passed over, others insert or update. The table needs a
        primary key or unique index on exactly the key columns."""
        return PostgresSink(dsn, table, key, columns, patience_seconds, commits_table)

    def __getstate__(self) -> dict[str, Any]:
        # writers never connect, so the password stays on the driver
        gone = ("_connector", "_commits", "_labels")
        return {**self.__dict__, "_dsn": "", **dict.fromkeys(gone)}

    def create_writer(self, context: WriterContext) -> SinkWriter:
        if self._key is None:
            return _AppendWriter(context, self._columns)
        return _UpsertWriter(context, self._columns, self._key)

    def start(self, context: CommitterContext) -> None:
        if self._connector is not None:
            # the job has been restarted
            self._connector.close()
        purpose = f"write a micro-batch to {self._table}"
        self._connector = Connector(self._dsn, self._patience_seconds, purpose)
        what = f"PostgresSink into {self._table!r} ({self._server})"
        commits = self._commits = BatchCommits(self._connector, context, what, self._commits_table)
        if self._key is None:
            self._unlabelled = commits.label_from_now_on(self._batch_column is not None)
        if self._batch_column is not None:
            self._labels = RowLabels(context, commits, self._table, self._batch_column)

    def committed_mark(self) -> Mark | None:
        assert self._commits is not None
        return self._commits.mark()

    def why_not_truncate(self) -> str:
        if self._key is not None:
            return (
                "PostgresSink.upsert keeps no older values to go back to. With 'append' the job "
                "writes each key again as it comes to it; keys that it does not write any more "
                "stay."
            )
        if self._batch_column is None:
            return (
                "the rows do not say which batch wrote them; PostgresSink.append with a "
                "batch_column lets them. Delete by hand what is too much, and choose 'append'."
            )
        return ""

    def truncate(self) -> None:
        assert self._labels is not None
        self._labels.truncate(self._unlabelled)

    def accept(self, mark: Mark) -> None:
        assert self._commits is not None
        if self._labels is not None:
            self._labels.accept(mark)
        else:
            self._commits.go_to(lambda connection: mark)

    def recover(self, batch_id: int) -> None:
        assert self._commits is not None
        self._commits.enter()

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        assert self._commits is not None
        staged: list[Staged] = sorted(messages)
        if staged and self._labels is not None:
            staged = [self._labelled(part, batch_id, self._labels) for part in staged]
        if staged:
            self._commits.apply(batch_id, lambda connection: self._write(connection, staged))

    def _labelled(self, part: Staged, batch: int, labels: RowLabels) -> Staged:
        assert self._batch_column is not None
        if self._batch_column in part.columns:
            raise TypeMismatchError(
                f"PostgresSink into {self._table!r}: the records have a field "
                f"{self._batch_column!r}, which is the batch_column that only the sink writes."
            )
        columns = (*part.columns, self._batch_column)
        return Staged(part.writer, columns, labels.add_to(part.content, batch))

    def _write(self, connection: psycopg.Connection[Any], staged: list[Staged]) -> None:
        if self._key is None:
            for part in staged:
                _copy(connection, self._table, part.columns, [part])
        else:
            columns = staged[0].columns
            if any(part.columns != columns for part in staged):
                raise TypeMismatchError(
                    f"PostgresSink into {self._table!r}: records of one batch have different "
                    f"fields: {sorted({part.columns for part in staged})}. Give columns=[...]."
                )
            self._merge(connection, columns, staged, self._key)

    def _merge(
        self,
        connection: psycopg.Connection[Any],
        columns: tuple[str, ...],
        staged: list[Staged],
        key: tuple[str, ...],
    ) -> None:
        """Upsert and delete what the last record of each key says."""
        sql = driver().sql
        names = sql.SQL(", ").join(map(sql.Identifier, columns))
        keys = sql.SQL(", ").join(map(sql.Identifier, key))
        others = [name for name in columns if name not in key]
        action = sql.SQL("DO NOTHING")
        if others:
            changes = [
                sql.SQL("{0} = EXCLUDED.{0}").format(sql.Identifier(name)) for name in others
            ]
            action = sql.SQL("DO UPDATE SET {}").format(sql.SQL(", ").join(changes))
        parts = {"table": identifier(self._table), "columns": names, "keys": keys, "act": action}
        same = [sql.SQL("t.{0} = s.{0}").format(sql.Identifier(name)) for name in key]
        parts["same"] = sql.SQL(" AND ").join(same)
        connection.execute(sql.SQL(_STAGE).format(**parts))
        _copy(connection, "_scurry_stage", ("_writer", "_seq", "_op", *columns), staged)
        connection.execute(sql.SQL(_DELETE).format(**parts))
        connection.execute(sql.SQL(_UPSERT).format(**parts))
        connection.execute("DROP TABLE _scurry_stage")

    def close(self) -> None:
        if self._connector is not None:
            self._connector.close()


_STAGE = (
    "CREATE TEMP TABLE _scurry_stage ON COMMIT DROP AS SELECT 0 AS _writer, 0::bigint AS _seq, "
    "''::text AS _op, {columns} FROM {table} WITH NO DATA"
)
_LAST = "SELECT DISTINCT ON ({keys}) * FROM _scurry_stage ORDER BY {keys}, _writer DESC, _seq DESC"
_DELETE = f"DELETE FROM {{table}} t USING ({_LAST}) s WHERE s._op = 'd' AND {{same}}"
_UPSERT = (
    f"INSERT INTO {{table}} ({{columns}}) SELECT {{columns}} FROM ({_LAST}) s WHERE s._op = 'u' "
    "ON CONFLICT ({keys}) {act}"
)


def _copy(
    connection: psycopg.Connection[Any], table: str, columns: Sequence[str], staged: list[Staged]
) -> None:
    sql = driver().sql
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(identifier(table), names)
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for part in staged:
            copy.write(part.content)


class _RowWriter(SinkWriter):
    """Finds out the columns, from the program or from the first record."""

    def __init__(self, context: WriterContext, columns: tuple[str, ...] | None) -> None:
        self._index = context.index
        self._columns = columns

    def _named(self, record: Any) -> tuple[str, ...]:
        if self._columns is None:
            self._columns = names_of(record)
            if self._columns is None:
                raise TypeMismatchError(
                    f"{shorten(record)} has no field names, so it is not known which columns it is "
                    "meant for. Give PostgresSink columns=[...]"
                )
        return self._columns


class _AppendWriter(_RowWriter):
    def __init__(self, context: WriterContext, columns: tuple[str, ...] | None) -> None:
        super().__init__(context, columns)
        self._content: list[bytes] = []

    def write(self, rows: list[Any]) -> None:
        if not rows:
            return
        columns = self._named(rows[0])
        for row in rows:
            if type(row) is Row and row.get_row_kind() is not RowKind.INSERT:
                raise TypeMismatchError(
                    f"PostgresSink.append only inserts, and got {row.to_string()}. For a stream of "
                    "changes use PostgresSink.upsert with the key of the table"
                )
        self._content.append(encode(values_of(row, columns) for row in rows))

    def prepare(self) -> Any:
        content, self._content = b"".join(self._content), []
        return Staged(self._index, self._columns or (), content) if content else None


class _UpsertWriter(_RowWriter):
    def __init__(
        self, context: WriterContext, columns: tuple[str, ...] | None, key: tuple[str, ...]
    ) -> None:
        super().__init__(context, columns)
        self._key = key
        #: the last change of each key in this micro-batch
        self._last: dict[tuple[Any, ...], tuple[str, Sequence[Any]]] = {}

    def write(self, rows: list[Any]) -> None:
        if not rows:
            return
        columns = self._named(rows[0])
        missing = [name for name in self._key if name not in columns]
        if missing:
            raise TypeMismatchError(
                f"the key column {missing[0]!r} is not among the fields {list(columns)} of "
                f"{shorten(rows[0])}"
            )
        places = [columns.index(name) for name in self._key]
        for row in rows:
            kind = row.get_row_kind() if type(row) is Row else RowKind.INSERT
            if kind is RowKind.UPDATE_BEFORE:
                continue
            values = values_of(row, columns)
            sign = "d" if kind is RowKind.DELETE else "u"
            self._last[tuple(values[place] for place in places)] = (sign, values)

    def prepare(self) -> Any:
        last, self._last = self._last, {}
        if not last:
            return None
        rows = (
            (self._index, number, sign, *values)
            for number, (sign, values) in enumerate(last.values())
        )
        return Staged(self._index, self._columns or (), encode(rows))
