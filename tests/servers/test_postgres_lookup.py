"""Look-ups in a real Postgres."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import psycopg
import pytest

from scurry.common.errors import FunctionError
from scurry.common.time import Time
from scurry.connectors.lookup import AsyncPostgresLookup
from scurry.connectors.postgres.connection import is_passing
from scurry.datastream import AsyncDataStream, AsyncRetryStrategy, StreamExecutionEnvironment
from scurry.runtime.async_calls import AsyncCalls, Flight
from scurry.runtime.async_io import AsyncContext
from scurry.runtime.metrics import MetricRegistry
from scurry.runtime.specs import OperatorSpec
from scurry.testing import collect_local
from scurry.testing.servers import PostgresServer

PATIENT = AsyncRetryStrategy.fixed_delay(20, 200, None, is_passing)


@pytest.fixture
def dsn(postgres_server: PostgresServer) -> str:
    with psycopg.connect(postgres_server.dsn) as connection:
        connection.execute("DROP TABLE IF EXISTS users")
        connection.execute('CREATE TABLE users (id bigint, region text, "full name" text)')
        connection.execute(
            "INSERT INTO users SELECT n % 10, 'r' || n / 10, 'user ' || n "
            "FROM generate_series(0, 19) n"
        )
    return postgres_server.dsn


def asked(keys: list[Any], lookup: AsyncPostgresLookup) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    return AsyncDataStream.ordered_wait_with_retry(
        env.from_collection(keys), lookup, Time.seconds(30), PATIENT
    )


def test_a_row_by_a_key_of_two_columns(dsn: str) -> None:
    lookup = AsyncPostgresLookup.of_table(
        dsn,
        "public.users",
        ["id", "region"],
        key=lambda value: value,
        join=lambda value, found: (*value, found and found["full name"]),
        columns=["full name"],
        pool_size=3,
    )
    keys = [(n % 12, f"r{n % 2}") for n in range(60)]
    expected = [
        (*key, f"user {key[0] + 10 * int(key[1][1])}" if key[0] < 10 else None) for key in keys
    ]
    assert collect_local(asked(keys, lookup), cuts=17) == expected


def test_a_query_with_many_rows(dsn: str) -> None:
    query = "SELECT region FROM users WHERE id = %s ORDER BY region"
    lookup = AsyncPostgresLookup(dsn, query, lambda key: key, many=True)
    assert collect_local(asked([3, 99], lookup)) == [
        (3, [{"region": "r0"}, {"region": "r1"}]),
        (99, None),
    ]
    one = AsyncPostgresLookup(dsn, query, lambda key: key)
    with pytest.raises(FunctionError, match=r"there are 2 rows for the key 3\. Make the query"):
        collect_local(asked([3], one))


def test_a_wrong_query_is_told(dsn: str) -> None:
    lookup = AsyncPostgresLookup(dsn, "SELECT nothing FROM users WHERE id = %s", lambda key: key)
    with pytest.raises(FunctionError, match='UndefinedColumn: column "nothing" does not exist'):
        collect_local(asked([3], lookup))


def test_a_server_that_restarts_is_waited_for(dsn: str, postgres_server: PostgresServer) -> None:
    query = "SELECT region FROM users WHERE id = %s AND region = 'r1'"
    lookup = AsyncPostgresLookup(dsn, query, lambda key: key, cache_size=0, pool_size=2)
    calls = AsyncCalls(lookup, 2, 30_000, PATIENT)
    spec = OperatorSpec("ask", "ask", make=Mock())
    calls.open(AsyncContext("ask", "ask", 0, 1, 128, {}, MetricRegistry().group(spec)))
    for _ in range(2):
        flight = Flight(list(range(8)))
        calls.submit(flight)
        calls.complete()
        assert flight.results == [[(key, {"region": "r1"})] for key in range(8)]
        postgres_server.stop()
        postgres_server.start()
    calls.close()
