"""Connections to Postgres that outlive its restarts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from scurry.common.errors import JobError, ProgramError
from scurry.connectors.patience import DEFAULT_SECONDS, Patience

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")

#: So that a server that vanished without a word is noticed.
_DEFAULTS = {"connect_timeout": "10", "tcp_user_timeout": "30000"}
#: What a server says, when one connects, about things that waiting does not mend.
_HOPELESS = ("authentication failed", "does not exist", "no pg_hba.conf entry", "no password")


def driver() -> Any:
    """The package psycopg."""
    try:
        import psycopg
    except ImportError:
        raise ProgramError(
            "Postgres needs the package psycopg. Run: python -m pip install 'scurry[postgres]'"
        ) from None
    return psycopg


def server_of(dsn: str) -> str:
    """The server and database that ``dsn`` names, without its password."""
    psycopg = driver()
    try:
        parts = psycopg.conninfo.conninfo_to_dict(dsn)
    except psycopg.ProgrammingError as failure:
        reason = str(failure).splitlines()[0]
        raise ProgramError(
            "This is not how a Postgres database is named; write for instance "
            f"'postgresql://user@host:5432/database'. ({reason.partition(chr(34))[0].strip()})"
        ) from None
    host, port = parts.get("host") or "localhost", parts.get("port") or 5432
    return f"Postgres at {host}:{port}/{parts.get('dbname') or parts.get('user') or ''}"


def is_passing(failure: Exception) -> bool:
    """Whether a failure comes from a server or connection that is away, and waiting may help."""
    psycopg = driver()
    if not isinstance(failure, (psycopg.OperationalError, psycopg.InterfaceError)):
        return False
    return failure.sqlstate is not None or not any(sign in str(failure) for sign in _HOPELESS)


class Connector:
    """One connection, made again when it is lost."""

    def __init__(
        self, dsn: str, patience_seconds: float = DEFAULT_SECONDS, purpose: str = ""
    ) -> None:
        self.server = server_of(dsn)
        self._dsn = dsn
        self._patience = Patience(self.server, patience_seconds, purpose=purpose)
        self._connection: psycopg.Connection[Any] | None = None

    def run(self, work: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Do ``work`` in one transaction; again, if the server goes away meanwhile."""
        return self._patience.call(lambda: self._once(work), is_passing)

    def _once(self, work: Callable[[psycopg.Connection[Any]], T]) -> T:
        connection = self._connect()
        try:
            with connection.transaction():
                return work(connection)
        except BaseException as failure:
            if not isinstance(failure, driver().Error) or is_passing(failure):
                self.close()
            raise

    def _connect(self) -> psycopg.Connection[Any]:
        if self._connection is None or self._connection.closed:
            psycopg = driver()
            given = psycopg.conninfo.conninfo_to_dict(self._dsn)
            try:
                self._connection = psycopg.connect(**{**_DEFAULTS, **given}, autocommit=True)
            except psycopg.OperationalError as failure:
                if is_passing(failure):
                    raise
                raise JobError(
                    f"{self.server} refuses the connection: {str(failure).splitlines()[-1]}. Check "
                    "user, password and database."
                ) from None
        assert self._connection is not None
        return self._connection

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
