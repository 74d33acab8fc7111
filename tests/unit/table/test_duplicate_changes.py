"""Tables that may be told of a change twice: ``table.exec.source.cdc-events-duplicate``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scurry.common.errors import ProgramError
from scurry.table import EnvironmentSettings, TableEnvironment
from scurry.testing.tables import changes_of_table

FIRST, SECOND, OTHER = {"k": "a", "n": 1}, {"k": "a", "n": 2}, {"k": "b", "n": 5}
EVENTS = [
    {"op": "c", "before": None, "after": FIRST},
    {"op": "u", "before": FIRST, "after": SECOND},
    {"op": "c", "before": None, "after": OTHER},
    {"op": "d", "before": OTHER, "after": None},
]


def environment(directory: Path, key: str) -> TableEnvironment:
    """One with a table that is told of each change twice."""
    lines = [json.dumps(event) for event in EVENTS for _ in range(2)]
    (directory / "c.json").write_text("\n".join(lines) + "\n")
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.execute_sql(
        f"CREATE TABLE c (k STRING, n INT{key}) WITH ('connector' = 'filesystem', "
        f"'format' = 'debezium-json', 'path' = '{directory / 'c.json'}')"
    )
    return env


def test_changes_that_change_nothing_are_left_out(tmp_path: Path) -> None:
    env = environment(tmp_path, ", PRIMARY KEY (k) NOT ENFORCED")
    assert len(changes_of_table(env.sql_query("SELECT * FROM c"))) == 10
    env.execute_sql("SET 'table.exec.source.cdc-events-duplicate' = 'true'")
    once = [("+I", "a", 1), ("-U", "a", 1), ("+U", "a", 2), ("+I", "b", 5), ("-D", "b", 5)]
    assert changes_of_table(env.sql_query("SELECT * FROM c"), cuts=1) == once
    assert changes_of_table(env.sql_query("SELECT SUM(n) FROM c"))[-1] == ("+U", 2)


def test_such_a_table_needs_a_primary_key(tmp_path: Path) -> None:
    env = environment(tmp_path, "")
    env.execute_sql("SET 'table.exec.source.cdc-events-duplicate' = 'true'")
    with pytest.raises(ProgramError, match=r"so needs PRIMARY KEY \(...\) NOT ENFORCED"):
        env.sql_query("SELECT * FROM c")
