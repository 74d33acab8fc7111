"""`PostgresSource`: the rows of a query, once or as new ones come.

**Incremental.** A column that only grows (a sequence, a time of insertion) tells old rows from new
ones: a micro-batch reads those above the last value, up to a bound that is written down before. The
bound must be such that no row below it can still appear. A transaction may have taken number 5, not
be committed yet, and 6 be visible already. So the enumerator notes the highest value together with
the transactions then under way, and uses it as a bound only when all of them have ended: whatever
they took is visible by then, and later ones take higher numbers.

**Snapshot.** The same up to the highest value at the start; or, without such a column, the whole
query in one micro-batch. Should that batch be repeated after a crash, the query runs again, and
sees what others have changed meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from scurry.common.errors import JobError, ProgramError
from scurry.common.type_information import TypeInformation
from scurry.common.types import Row
from scurry.connectors.patience import DEFAULT_SECONDS
from scurry.connectors.postgres.connection import Connector, driver, server_of
from scurry.functions.source import (
    LAG,
    Json,
    ReadPlan,
    ReadRange,
    Source,
    SourceBatch,
    SourceEnumerator,
)
from scurry.runtime.conform import as_elements

if TYPE_CHECKING:
    import psycopg

_READ_ROWS = 10_000
#: Rows that wait are not counted again for so many times the seconds that counting them took.
_COUNT_SHARE = 20


class PostgresSource(Source):
    """Reads the rows of a query as Rows with the names of its columns, or as ``type_info`` says;
    made with :meth:`snapshot` or :meth:`incremental`."""

    max_tasks = 1

    def __init__(
        self,
        dsn: str,
        query: str,
        column: str | None,
        bounded: bool,
        start: Any,
        poll_seconds: float,
        type_info: TypeInformation | None,
        patience_seconds: float,
    ) -> None:
        self._server = server_of(dsn)
        self._dsn = dsn
        self._query = query.strip().rstrip(";") if isinstance(query, str) else ""
        if not self._query:
            raise ProgramError(f"PostgresSource needs a query or a table, got {query!r}.")
        if " " not in self._query:
            self._query = f"SELECT * FROM {self._query}"
        self._column = column
        self._start = None if start is None else str(start)
        self._poll_seconds = poll_seconds
        self._type = type_info
        self._patience_seconds = patience_seconds
        self.bounded = bounded

    @staticmethod
    def snapshot(
        dsn: str,
        query: str,
        column: str | None = None,
        *,
        type_info: TypeInformation | None = None,
        patience_seconds: float = DEFAULT_SECONDS,
    ) -> PostgresSource:
        """The rows that ``query`` (or a table of that name) gives now, in the order of ``column``
        and in several micro-batches if one is named, else all in one."""
        return PostgresSource(dsn, query, column, True, None, 0.0, type_info, patience_seconds)

    @staticmethod
    def incremental(
        dsn: str,
        query: str,
        column: str,
        *,
        start: Any = None,
        poll_seconds: float = 1.0,
        type_info: TypeInformation | None = None,
        patience_seconds: float = DEFAULT_SECONDS,
    ) -> PostgresSource:
        """Rows in the order of ``column``, which must grow, from above ``start`` on and for ever;
        asks for new ones every ``poll_seconds``."""
        return PostgresSource(
            dsn, query, column, False, start, poll_seconds, type_info, patience_seconds
        )

    def __repr__(self) -> str:
        return f"PostgresSource({self._query!r}, {self._server})"

    @property
    def position_form(self) -> str:
        return "PostgresSource" if self._column else "PostgresSource, all in one"

    @property
    def type_info(self) -> TypeInformation | None:
        return self._type

    def _connector(self) -> Connector:
        return Connector(self._dsn, self._patience_seconds, "read a query")

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        if self._column is None:
            return _WholeQuery()
        return _Growing(
            Reader(self._connector(), self._query, self._column),
            self._start,
            self._poll_seconds,
            self.bounded,
        )

    def read(self, what: Json) -> Iterator[SourceBatch]:
        reader = Reader(self._connector(), self._query, self._column)
        try:
            names, rows = reader.rows(*what)
        finally:
            reader.close()
        for at in range(0, len(rows), _READ_ROWS):
            columns = list(zip(*rows[at : at + _READ_ROWS], strict=True))
            elements: list[Any] = Row.from_columns(names, columns)
            if self._type is not None:
                elements = as_elements(elements, self._type)
            yield SourceBatch(rows=elements)


class Reader:
    """Asks the questions that a source has."""

    def __init__(self, connector: Connector, query: str, column: str | None) -> None:
        self._connector = connector
        self._query = query
        self._column = column

    def _ask(self, statement: str, values: list[Any]) -> psycopg.Cursor[Any]:
        package = driver()
        # the query is the program's own, and % in it is not ours to read
        parts = {
            "query": package.sql.SQL(self._query.replace("%", "%%") if values else self._query)
        }
        if self._column is not None:
            parts["column"] = package.sql.Identifier(self._column)
        text = package.sql.SQL(statement).format(**parts)
        try:
            cursor: psycopg.Cursor[Any] = self._connector.run(
                lambda connection: connection.execute(text, values or None)
            )
        except package.Error as failure:
            self.close()
            raise JobError(
                f"PostgresSource ({self._connector.server}): {str(failure).strip()}\n"
                f"The query was: {self._query}"
            ) from failure
        return cursor

    def rows(self, low: str | None, high: str | None) -> tuple[tuple[str, ...], list[Any]]:
        """Names, and the rows above ``low`` up to ``high``, in order."""
        if self._column is None:
            cursor = self._ask("SELECT * FROM ({query}) q", [])
        else:
            where, values = _between(low, high)
            cursor = self._ask(f"SELECT * FROM ({{query}}) q{where} ORDER BY {{column}}", values)
        names = tuple(column.name for column in cursor.description or ())
        return names, cursor.fetchall()

    def highest(self) -> tuple[str | None, int]:
        """The highest value, and the first transaction that had not begun then."""
        found = self._ask(
            "SELECT max({column})::text, pg_snapshot_xmax(pg_current_snapshot())::text::bigint "
            "FROM ({query}) q",
            [],
        ).fetchone()
        assert found is not None
        return found[0], found[1]

    def oldest_running(self) -> int:
        """The first transaction that has not ended."""
        found = self._ask("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint", [])
        row = found.fetchone()
        assert row is not None
        return int(row[0])

    def after(self, low: str | None, high: str, count: int) -> str:
        """The value ``count`` rows above ``low``, at most ``high``."""
        where, values = _between(low, high)
        # q.column is the column as it is; the bare name would be the text that is selected
        found = self._ask(
            f"SELECT {{column}}::text FROM ({{query}}) q{where} ORDER BY q.{{column}} "
            "OFFSET %s LIMIT 1",
            [*values, count - 1],
        ).fetchone()
        return high if found is None else str(found[0])

    def count(self, low: str | None, high: str | None) -> int:
        """How many rows there are above ``low`` up to ``high``."""
        where, values = _between(low, high)
        found = self._ask(f"SELECT count(*) FROM ({{query}}) q{where}", values).fetchone()
        assert found is not None
        return int(found[0])

    def close(self) -> None:
        """Let go of the connection."""
        self._connector.close()


def _between(low: str | None, high: str | None) -> tuple[str, list[str]]:
    conditions = {"{column} > %s": low, "{column} <= %s": high}
    used = {text: value for text, value in conditions.items() if value is not None}
    return (" WHERE " + " AND ".join(used) if used else ""), list(used.values())


class _WholeQuery(SourceEnumerator):
    def initial_position(self) -> Json:
        return 0

    def plan(self, position: Json, max_records: int) -> ReadPlan:
        return ReadPlan(1, [ReadRange("0", [None, None])] if position == 0 else [], finished=True)

    def gauges(self) -> dict[str, int]:
        """Nothing is left once the one micro-batch has been planned."""
        return {LAG: 0}


class _Backlog:
    """How many rows are above the last one that was planned.

    The server counts them, which takes it the longer the more there are. So it is asked again only
    after a pause that is many times as long as its last answer took; meanwhile the rows that are
    planned are taken off.
    """

    def __init__(self, reader: Reader, pause_seconds: float) -> None:
        self._reader = reader
        self._pause_seconds = pause_seconds
        self._again_at = float("-inf")
        self.rows = 0

    def planned(self, rows: int, low: str | None, end: str | None) -> None:
        """Called after a plan of so many rows; those above ``low`` up to ``end`` are left."""
        began = time.monotonic()
        if began < self._again_at:
            self.rows = max(0, self.rows - rows)
            return
        self.rows = 0 if low == end and end is not None else self._reader.count(low, end)
        ended = time.monotonic()
        self._again_at = ended + max(self._pause_seconds, _COUNT_SHARE * (ended - began))


class _Growing(SourceEnumerator):
    """Moves a bound upwards."""

    def __init__(
        self, reader: Reader, start: str | None, poll_seconds: float, bounded: bool
    ) -> None:
        self._reader = reader
        self._start = start
        self._poll_seconds = poll_seconds
        self._bounded = bounded
        self._asked = float("-inf")
        #: the bound in use, and one that waits for transactions before a number to end
        self._bound: str | None = None
        self._candidate: tuple[str, int] | None = None
        self._backlog = _Backlog(reader, poll_seconds)

    def initial_position(self) -> Json:
        end = self._reader.highest()[0] if self._bounded else None
        return {"at": self._start, "end": end, "bounded": self._bounded}

    def plan(self, position: Json, max_records: int) -> ReadPlan:
        position = self._as_bounded_as_now(position)
        low, end = position["at"], position["end"]
        if self._bounded:
            if end is None or low == end:
                return ReadPlan(position, finished=True)
            return self._up_to(position, end, max_records)
        if self._bound is None or self._bound == low:
            self._bound = self._settled(low)
        if self._bound is None:
            return ReadPlan(position)
        return self._up_to(position, self._bound, max_records)

    def _as_bounded_as_now(self, position: Json) -> Json:
        """``position``, with the end that the program says now: what is there now, or none."""
        if position.get("bounded", position["end"] is not None) == self._bounded:
            return position
        end = self._reader.highest()[0] if self._bounded else None
        return {"at": position["at"], "end": end, "bounded": self._bounded}

    def _settled(self, low: str | None) -> str | None:
        """A bound above ``low`` below which no row can appear any more, None for now."""
        if self._candidate is None:
            if time.monotonic() - self._asked < self._poll_seconds:
                return None
            self._asked = time.monotonic()
            highest, running = self._reader.highest()
            if highest is None or highest == low:
                self._backlog.rows = 0
                return None
            self._candidate = (highest, running)
        highest, running = self._candidate
        if self._reader.oldest_running() < running:
            self._backlog.planned(0, low, None)
            return None
        self._candidate = None
        return highest

    def _up_to(self, position: Json, bound: str, max_records: int) -> ReadPlan:
        low = position["at"]
        high = self._reader.after(low, bound, max_records)
        finished = self._bounded and high == bound
        self._backlog.planned(max_records, high, position["end"])
        after = {**position, "at": high}
        return ReadPlan(after, [ReadRange("0", [low, high])], finished=finished)

    def gauges(self) -> dict[str, int]:
        return {LAG: self._backlog.rows}

    def close(self) -> None:
        self._reader.close()
