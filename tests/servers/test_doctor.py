"""``scurry doctor --postgres``."""

from __future__ import annotations

import json

import psycopg
from click.testing import CliRunner

from scurry.cli.checks import Verdict
from scurry.cli.main import main
from scurry.cli.postgres_check import check_postgres
from scurry.testing.servers import PostgresServer


def test_a_database_that_can_be_written_to(postgres_server: PostgresServer) -> None:
    result = CliRunner().invoke(main, ["doctor", "--json", "--postgres", postgres_server.dsn])
    finding = json.loads(result.output)["checks"][-1]
    assert finding["verdict"] == "ok"
    assert finding["found"].startswith(f"Postgres at 127.0.0.1:{postgres_server.port}/postgres")
    assert finding["found"].endswith("as postgres")


def test_a_database_that_is_not_there() -> None:
    finding = check_postgres("postgresql://u:hunter2@127.0.0.1:1/db")
    assert finding.verdict is Verdict.FAIL
    assert "127.0.0.1:1/db cannot be reached" in finding.found
    assert "hunter2" not in finding.found + finding.remedy
    assert check_postgres("what?").verdict is Verdict.FAIL


def test_a_user_that_may_not_create_tables(postgres_server: PostgresServer) -> None:
    with psycopg.connect(postgres_server.dsn) as connection:
        connection.execute("DROP ROLE IF EXISTS reader")
        connection.execute("CREATE ROLE reader LOGIN")
        connection.execute("DROP TABLE IF EXISTS _scurry_commits")
        connection.execute("REVOKE CREATE ON SCHEMA public FROM public")
    finding = check_postgres(postgres_server.dsn.replace("postgres@", "reader@"))
    assert finding.verdict is Verdict.WARN
    assert "GRANT CREATE ON SCHEMA public TO reader" in finding.remedy
