"""`JdbcSink`, under PyFlink's name, for Postgres.

There is no Java here: a ``jdbc:postgresql:`` URL is read as what it says, and the statement is run
by psycopg. Unlike Flink's JdbcSink it is exactly once, since a batch and its mark are one
transaction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

from scurry.common.errors import NotSupportedError, ProgramError
from scurry.common.row_types import CompositeTypeInfo
from scurry.connectors.patience import DEFAULT_SECONDS
from scurry.connectors.postgres.commits import COMMITS_TABLE, BatchCommits
from scurry.connectors.postgres.connection import Connector
from scurry.functions.history import Mark
from scurry.functions.sink import CommitterContext, Sink, SinkWriter, WriterContext

_PREFIX = "jdbc:postgresql:"


@dataclass(frozen=True)
class JdbcConnectionOptions:
    """Which database to connect to, and as whom."""

    url: str
    driver_name: str = "org.postgresql.Driver"
    user_name: str = ""
    password: str = field(default="", repr=False)

    def get_db_url(self) -> str:
        """The URL."""
        return self.url

    def get_driver_name(self) -> str:
        """The driver that was asked for; it is not used."""
        return self.driver_name

    def get_user_name(self) -> str:
        """Who connects."""
        return self.user_name

    def get_password(self) -> str:
        """The password."""
        return self.password

    def dsn(self) -> str:
        """The same as Postgres's own tools want it."""
        if not self.url.startswith(_PREFIX):
            kind = ":".join(self.url.split(":")[:2]) + ":"
            raise NotSupportedError(
                f"JdbcSink: {kind!r} is not a database that Scurry can write to; only "
                f"{_PREFIX!r} is. Write a sink of your own for others."
            )
        rest = self.url.removeprefix(_PREFIX)
        parts = urlsplit(rest if rest.startswith("//") else f"//localhost/{rest}")
        user = quote(self.user_name, safe="")
        if user and self.password:
            user += f":{quote(self.password, safe='')}"
        query = f"?{parts.query}" if parts.query else ""
        return f"postgresql://{user}{'@' if user else ''}{parts.netloc}{parts.path}{query}"

    class JdbcConnectionOptionsBuilder:
        """Gathers the options."""

        def __init__(self) -> None:
            self._given: dict[str, str] = {}

        def with_url(self, url: str) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Where the database is, as ``jdbc:postgresql://host:5432/database``."""
            self._given["url"] = url
            return self

        def with_driver_name(
            self, driver_name: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Taken for the sake of programs that give one."""
            self._given["driver_name"] = driver_name
            return self

        def with_user_name(
            self, user_name: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """Who connects."""
            self._given["user_name"] = user_name
            return self

        def with_password(
            self, password: str
        ) -> JdbcConnectionOptions.JdbcConnectionOptionsBuilder:
            """The password."""
            self._given["password"] = password
            return self

        def build(self) -> JdbcConnectionOptions:
            """The finished options."""
            if "url" not in self._given:
                raise ProgramError("JdbcConnectionOptions: with_url(...) is missing.")
            return JdbcConnectionOptions(**self._given)


@dataclass(frozen=True)
class JdbcExecutionOptions:
    """How to write. A batch is always one micro-batch here, written in one transaction and, while
    the server is away, tried again: the options are accepted and have no effect."""

    batch_interval_ms: int = 0
    batch_size: int = 5000
    max_retries: int = 3

    def get_batch_interval_ms(self) -> int:
        """As given."""
        return self.batch_interval_ms

    def get_batch_size(self) -> int:
        """As given."""
        return self.batch_size

    def get_max_retries(self) -> int:
        """As given."""
        return self.max_retries

    @staticmethod
    def defaults() -> JdbcExecutionOptions:
        """What holds when nothing is said."""
        return JdbcExecutionOptions()

    @staticmethod
    def builder() -> JdbcExecutionOptions.Builder:
        """Begin with the defaults."""
        return JdbcExecutionOptions.Builder()

    class Builder:
        """Gathers the options."""

        def __init__(self) -> None:
            self._given: dict[str, int] = {}

        def with_batch_size(self, size: int) -> JdbcExecutionOptions.Builder:
            """Accepted."""
            self._given["batch_size"] = size
            return self

        def with_batch_interval_ms(self, interval_ms: int) -> JdbcExecutionOptions.Builder:
            """Accepted."""
            self._given["batch_interval_ms"] = interval_ms
            return self

        def with_max_retries(self, max_retries: int) -> JdbcExecutionOptions.Builder:
            """Accepted."""
            self._given["max_retries"] = max_retries
            return self

        def build(self) -> JdbcExecutionOptions:
            """The finished options."""
            return JdbcExecutionOptions(**self._given)


class JdbcSink(Sink):
    """Runs a statement for every record."""

    def __init__(
        self, statement: str, type_info: CompositeTypeInfo, options: JdbcConnectionOptions
    ) -> None:
        self._statement, marks = _placeholders(statement)
        self._type = type_info
        self._dsn = options.dsn()
        fields = len(type_info.field_names())
        if marks != fields:
            raise ProgramError(
                f"JdbcSink: {statement!r} has {marks} question marks, and the type has {fields} "
                "fields. Each field fills one."
            )
        self._connector: Connector | None = None
        self._commits: BatchCommits | None = None

    @staticmethod
    def sink(
        sql: str,
        type_info: CompositeTypeInfo,
        jdbc_connection_options: JdbcConnectionOptions,
        jdbc_execution_options: JdbcExecutionOptions | None = None,
    ) -> JdbcSink:
        """Run ``sql``, whose question marks are the fields of ``type_info``, for every record."""
        if not isinstance(type_info, CompositeTypeInfo):
            raise ProgramError(f"JdbcSink needs a row type, got {type_info!r}.")
        return JdbcSink(sql, type_info, jdbc_connection_options)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_dsn": "", "_connector": None, "_commits": None}

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Values(self._type)

    def start(self, context: CommitterContext) -> None:
        if self._connector is not None:
            # the job has been restarted
            self._connector.close()
        self._connector = Connector(self._dsn, DEFAULT_SECONDS, "write a micro-batch")
        what = f"JdbcSink {self._statement!r}"
        self._commits = BatchCommits(self._connector, context, what, COMMITS_TABLE)

    def committed_mark(self) -> Mark | None:
        assert self._commits is not None
        return self._commits.mark()

    def why_not_truncate(self) -> str:
        return (
            "a JdbcSink runs a statement and does not know which rows that has changed. If the "
            "statement can be run again for the same record without harm, as an upsert can, choose "
            "'append'; otherwise mend the table by hand first, or use PostgresSink.append with a "
            "batch_column."
        )

    def accept(self, mark: Mark) -> None:
        assert self._commits is not None
        self._commits.go_to(lambda connection: mark)

    def recover(self, batch_id: int) -> None:
        assert self._commits is not None
        self._commits.enter()

    def commit(self, batch_id: int, messages: list[Any]) -> None:
        assert self._commits is not None
        rows = [row for message in messages for row in message]
        if rows:
            self._commits.apply(
                batch_id, lambda connection: connection.cursor().executemany(self._statement, rows)
            )

    def close(self) -> None:
        if self._connector is not None:
            self._connector.close()


class _Values(SinkWriter):
    def __init__(self, type_info: CompositeTypeInfo) -> None:
        self._split = type_info.field_values
        self._rows: list[tuple[Any, ...]] = []

    def write(self, rows: list[Any]) -> None:
        self._rows.extend(tuple(self._split(row)) for row in rows)

    def prepare(self) -> Any:
        rows, self._rows = self._rows, []
        return rows or None


def _placeholders(statement: str) -> tuple[str, int]:
    """The statement with psycopg's marks for values instead of JDBC's, and how many there are."""
    out, marks, quoted = [], 0, ""
    for sign in statement:
        if quoted:
            quoted = "" if sign == quoted else quoted
        elif sign in "'\"":
            quoted = sign
        elif sign == "?":
            marks += 1
            out.append("%s")
            continue
        out.append("%%" if sign == "%" else sign)
    return "".join(out), marks
