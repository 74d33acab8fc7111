"""``scurry doctor --postgres`` and ``--rabbitmq``."""

from __future__ import annotations

import json

import psycopg
from click.testing import CliRunner

from scurry.cli.checks import Verdict
from scurry.cli.main import main
from scurry.cli.postgres_check import check_postgres
from scurry.cli.rabbitmq_check import check_rabbitmq
from scurry.testing.servers import PostgresServer, RabbitMQServer


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


def test_a_rabbitmq_that_can_be_used(rabbitmq_server: RabbitMQServer) -> None:
    result = CliRunner().invoke(main, ["doctor", "--json", "--rabbitmq", rabbitmq_server.uri])
    finding = json.loads(result.output)["checks"][-1]
    assert (finding["verdict"], finding["found"]) == (
        "ok",
        f"RabbitMQ at 127.0.0.1:{rabbitmq_server.port}",
    )


def test_a_rabbitmq_that_cannot(rabbitmq_server: RabbitMQServer) -> None:
    away = check_rabbitmq("amqp://u:hunter2@127.0.0.1:1/v")
    assert away.verdict is Verdict.FAIL
    assert away.found.startswith("RabbitMQ at 127.0.0.1:1 cannot be used: ")
    assert away.found.endswith("Connection refused")
    refused = check_rabbitmq(rabbitmq_server.uri.replace("guest:guest", "guest:hunter2"))
    assert "ACCESS_REFUSED" in refused.found
    assert check_rabbitmq("what?").remedy == "Write: amqp://user:password@host:5672/%2f"
    assert "hunter2" not in str([away, refused])
