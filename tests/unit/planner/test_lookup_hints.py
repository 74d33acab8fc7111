"""The LOOKUP hint: what it means, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from scurry.common.errors import ProgramError
from scurry.functions.lookups import LookupSettings
from scurry.plan.relational import AsyncLookupJoin, LookupJoin
from scurry.table import EnvironmentSettings, TableEnvironment

RETRY = (
    "'retry-predicate' = 'lookup_miss', 'retry-strategy' = 'fixed_delay', 'fixed-delay' = '2s', "
    "'max-attempts' = '4'"
)


def query_of(env: TableEnvironment, hint: str, options: str = "", grouped: bool = False) -> str:
    """A query with a lookup join, whose tables it makes."""
    env.execute_sql("CREATE TABLE clicks (name STRING) WITH ('connector' = 'datagen')")
    env.execute_sql(
        "CREATE TABLE users (name STRING, city STRING) WITH ('connector' = 'jdbc', 'url' = "
        f"'jdbc:postgresql://nowhere/none', 'table-name' = 'users'{options})"
    )
    source = "SELECT name FROM clicks"
    if grouped:
        source = "SELECT name, COUNT(*) AS n FROM clicks GROUP BY name"
    return (
        f"SELECT {hint} a.name, u.city FROM (SELECT name, PROCTIME() AS pt FROM ({source})) AS a "
        "JOIN users FOR SYSTEM_TIME AS OF a.pt AS u ON a.name = u.name"
    )


def planned(
    hint: str, options: str = "", settings: dict[str, str] | None = None, grouped: bool = False
) -> LookupJoin:
    """The lookup join of a query with a hint."""
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for key, value in (settings or {}).items():
        env.get_config().set(key, value)
    query = env.sql_query(query_of(env, hint, options, grouped))
    make: Any = env.jobs.relation_step(query.relation).kind
    waiting = [make()]
    while waiting:
        node = waiting.pop()
        if isinstance(node, LookupJoin):
            return node
        waiting += node.inputs
    raise AssertionError("no lookup join")


def test_tables_and_hints_choose_how_rows_are_looked_up() -> None:
    assert not isinstance(planned(""), AsyncLookupJoin)
    assert isinstance(planned("", ", 'lookup.async' = 'true'"), AsyncLookupJoin)
    assert isinstance(planned("/*+ LOOKUP('table' = 'u', 'async' = 'true') */"), AsyncLookupJoin)
    asked = planned("/*+ LOOKUP('table'='users', 'async'='false') */", ", 'lookup.async' = 'true'")
    assert not isinstance(asked, AsyncLookupJoin)


def test_hints_go_before_the_settings_of_the_session() -> None:
    session = {
        "table.exec.async-lookup.output-mode": "ALLOW_UNORDERED",
        "table.exec.async-lookup.buffer-capacity": "7",
        "table.exec.async-lookup.timeout": "5 s",
    }
    assert planned("", settings=session).settings == LookupSettings(None, False, 7, 5000)
    hint = f"/*+ LOOKUP('table' = 'u', 'output-mode' = 'ordered', 'capacity' = '9', {RETRY}) */"
    found = planned(hint, settings=session).settings
    assert found == LookupSettings(None, True, 9, 5000, retries=4, delay_ms=2000)


def test_updates_keep_their_order() -> None:
    hint = "/*+ LOOKUP('table' = 'u', 'async' = 'true', 'output-mode' = 'allow_unordered') */"
    assert not planned(hint).settings.ordered
    assert planned(hint, grouped=True).settings.ordered


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        ("LOOKUP('async' = 'true')", "LOOKUP names no table"),
        ("LOOKUP('table' = 'x')", "LOOKUP names 'x', which no lookup join of this SELECT reads"),
        ("LOOKUP('table' = 'u', 'asynch' = 'true')", "asynch"),
        ("LOOKUP('table' = 'u', 'async' = 'yes')", "'yes' is not 'true' or 'false'"),
        ("LOOKUP('table' = 'u', 'capacity' = '0')", "'0' is not a whole number from 1 on"),
        ("LOOKUP('table' = 'u', 'timeout' = 'soon')", "soon"),
        ("LOOKUP('table' = 'u', 'max-attempts' = '3')", "only with all of retry-predicate"),
    ],
)
def test_hints_that_mean_nothing_are_refused(hint: str, message: str) -> None:
    with pytest.raises(ProgramError) as refusal:
        planned(f"/*+ {hint} */")
    assert message in str(refusal.value)
    assert "^" in str(refusal.value)


def test_explain_shows_what_is_looked_up() -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    query = query_of(env, "/*+ LOOKUP('table' = 'u', 'async' = 'true') */")
    assert (
        "LookupJoin(table=[default_catalog.default_database.users], joinType=[inner], "
        "lookup=[name], hint=[asynchronous=True])"
    ) in env.explain_sql(query)
