"""``scurry doctor --postgres``: can jobs reach this database, and write to it exactly once?

A sink keeps a small table of commits beside the user's tables, so the user that connects must be
allowed to make one, or somebody must have made it.
"""

from __future__ import annotations

from scurry.cli.checks import Finding, Verdict
from scurry.common.errors import JobError, ProgramError
from scurry.connectors.postgres.commits import COMMITS_TABLE
from scurry.connectors.postgres.connection import Connector, driver, server_of

NAME = "Postgres"
_QUESTION = (
    "SELECT current_setting('server_version'), current_user, current_schema(), "
    "coalesce(has_schema_privilege(current_schema(), 'CREATE'), false), "
    f"to_regclass('{COMMITS_TABLE}') IS NOT NULL, pg_is_in_recovery()"
)


def check_postgres(dsn: str) -> Finding:
    """The database answers, takes writes, and has or allows the table of commits."""
    try:
        server = server_of(dsn)
    except ProgramError as failure:
        return Finding(NAME, Verdict.FAIL, str(failure), "Write: postgresql://user@host:5432/name")
    connector = Connector(dsn, patience_seconds=0)
    try:
        answer = connector.run(lambda connection: connection.execute(_QUESTION).fetchone())
    except (JobError, driver().Error) as failure:
        reason = str(failure.__cause__ or failure).strip().splitlines()[-1]
        return Finding(
            NAME,
            Verdict.FAIL,
            f"{server} cannot be reached: {reason}",
            "Check host, port, database, user and password, and that the server takes connections "
            "from this machine (listen_addresses, pg_hba.conf, firewall).",
        )
    finally:
        connector.close()
    assert answer is not None
    version, user, schema, may_create, has_table, is_replica = answer
    found = f"{server}, version {version}, as {user}"
    if is_replica:
        return Finding(
            NAME, Verdict.WARN, f"{found}: a read-only replica", "Sinks need the primary server."
        )
    if not (may_create or has_table):
        return Finding(
            NAME,
            Verdict.WARN,
            f"{found}: may not create tables in {schema or 'any schema'}",
            f"Sources work. For sinks: GRANT CREATE ON SCHEMA {schema or '...'} TO {user}; or make "
            f"the table {COMMITS_TABLE} and grant it SELECT, INSERT and UPDATE there.",
        )
    return Finding(NAME, Verdict.OK, found)
