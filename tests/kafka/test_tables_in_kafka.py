"""Tables of the connectors ``kafka`` and ``upsert-kafka``, on a broker of our own."""

from __future__ import annotations

import json
from typing import Any

from scurry.table import EnvironmentSettings, TableEnvironment
from scurry.testing.tables import changes_of_table, run_inserts


def environment() -> TableEnvironment:
    """An environment with a view of words."""
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    rows = [("a", 1), ("b", 2), ("a", 3)]
    env.create_temporary_view("words", env.from_elements(rows, ["word", "n"]))
    return env


def test_rows_go_through_a_topic(topics: Any) -> None:
    env, topic = environment(), topics.create()
    env.execute_sql(
        "CREATE TABLE t (word STRING, n BIGINT, `offset` BIGINT METADATA VIRTUAL) WITH ("
        f"'connector' = 'kafka', 'topic' = '{topic}', 'format' = 'json', "
        f"'properties.bootstrap.servers' = '{topics.servers}', "
        "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset')"
    )
    run_inserts(env, [env.pipeline_of_sql("INSERT INTO t SELECT word, n FROM words")], cuts=2)
    found = changes_of_table(env.sql_query("SELECT word, n, `offset` FROM t"), cuts=2)
    assert found == [("+I", "a", 1, 0), ("+I", "b", 2, 1), ("+I", "a", 3, 2)]


def test_a_table_by_key_goes_through_a_topic(topics: Any) -> None:
    env, topic = environment(), topics.create()
    env.execute_sql(
        "CREATE TABLE counts (word STRING, n BIGINT, PRIMARY KEY (word) NOT ENFORCED) WITH ("
        f"'connector' = 'upsert-kafka', 'topic' = '{topic}', "
        f"'properties.bootstrap.servers' = '{topics.servers}', "
        "'key.format' = 'json', 'value.format' = 'json', 'scan.bounded.mode' = 'latest-offset')"
    )
    counts = "SELECT word, COUNT(*) AS n FROM words GROUP BY word"
    once = f"SELECT word, n FROM ({counts}) WHERE n < 2"
    run_inserts(env, [env.pipeline_of_sql(f"INSERT INTO counts {once}")], cuts=1)
    values = [(json.loads(one.key())["word"], one.value()) for one in topics.read(topic)]
    assert [key for key, _ in values] == ["a", "b", "a"]
    assert values[-1][1] is None
    assert changes_of_table(env.sql_query("SELECT * FROM counts")) == [
        ("+I", "a", 1),
        ("+I", "b", 1),
        ("-D", "a", 1),
    ]
