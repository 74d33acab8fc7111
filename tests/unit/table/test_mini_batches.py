"""Mini-batches: how many rows become one net change."""

from __future__ import annotations

import pytest

from scurry.table import EnvironmentSettings, TableEnvironment
from scurry.testing.tables import changes_of_table

ROWS = [("a", 1), ("a", 2), ("b", 3), ("a", 4), ("a", 5)]


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("-1", [("+I", "b", 3), ("+I", "a", 12)]),
        ("10", [("+I", "b", 3), ("+I", "a", 12)]),
        ("2", [("+I", "a", 3), ("+I", "b", 3), ("-U", "a", 3), ("+U", "a", 7)]),
        ("1", [("+I", "a", 1), ("-U", "a", 1), ("+U", "a", 3), ("+I", "b", 3)]),
    ],
)
def test_a_net_change_is_of_so_many_rows(size: str, expected: list[tuple[object, ...]]) -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("table.exec.mini-batch.enabled", "true")
    env.get_config().set("table.exec.mini-batch.size", size)
    env.get_config().set("table.optimizer.agg-phase-strategy", "ONE_PHASE")
    env.create_temporary_view("t", env.from_elements(ROWS, ["k", "v"]))
    table = env.sql_query("SELECT k, SUM(v) AS s FROM t GROUP BY k")
    found = [(str(kind), *values) for kind, *values in changes_of_table(table)]
    assert found[: len(expected)] == expected
    assert [change for change in found if change[1] == "a"][-1][2] == 12
