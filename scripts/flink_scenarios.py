"""Run the SQL scenarios of tests/sql on PyFlink and compare, or write what it gives.

    <python with apache-flink> scripts/flink_scenarios.py            (what `make diff-flink` runs)
    <python with apache-flink> scripts/flink_scenarios.py --write    (fills in new ones)

It needs nothing of Scurry but the files; PyFlink is in an environment of its own.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pyflink.table import EnvironmentSettings, TableEnvironment
from tests.sql.scenario import (
    DIRECTORY,
    Scenario,
    change_text,
    read_scenario,
    table_text,
)

_KINDS = ("+I", "-U", "+U", "-D")


def run(scenario: Scenario, directory: Path) -> list[str]:
    """Every change that Flink gives, with parallelism 1."""
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("parallelism.default", "1")
    env.get_config().set("table.local-time-zone", "UTC")
    scenario.write_files(directory)
    for statement in scenario.definitions(directory):
        env.execute_sql(statement)
    with env.sql_query(scenario.query(directory)).execute().collect() as rows:
        return [change_text(_KINDS[row.get_row_kind().value], list(row)) for row in rows]


def compare(scenario: Scenario, found: list[str]) -> str | None:
    """What differs, None if nothing does."""
    if scenario.table is not None and table_text(found) != scenario.table:
        return f"table: {table_text(found)} instead of {scenario.table}"
    if scenario.changes is not None and found != scenario.changes:
        return f"changes: {found} instead of {scenario.changes}"
    return None


def write(path: Path, found: list[str]) -> None:
    """Add what Flink gives to a scenario's file."""
    lines = [path.read_text().rstrip("\n"), "-- table", *(f"-- {row}" for row in table_text(found))]
    lines += ["-- changes", *(f"-- {change}" for change in found)]
    path.write_text("\n".join(lines) + "\n")


def main() -> int:
    """Run all scenarios; the number of those that differ is the exit code."""
    writing = "--write" in sys.argv
    wanted = [one for one in sys.argv[1:] if not one.startswith("--")]
    differ = 0
    for path in sorted(DIRECTORY.glob("*.sql")):
        scenario = read_scenario(path)
        if (wanted and scenario.name not in wanted) or scenario.refused is not None:
            continue
        with tempfile.TemporaryDirectory() as directory:
            try:
                found = run(scenario, Path(directory))
            except Exception as failure:
                text = str(failure)
                cause = [line for line in text.splitlines() if "Exception:" in line][:2]
                print(f"FAILED {scenario.name}: {' | '.join(cause) or text[:300]}")
                differ += 1
                continue
        if scenario.table is None and writing:
            write(path, found)
            print(f"wrote  {scenario.name}")
            continue
        problem = compare(scenario, found)
        print(f"{'ok    ' if problem is None else 'DIFFER'} {scenario.name} {problem or ''}")
        differ += problem is not None
    return differ


if __name__ == "__main__":
    sys.exit(main())
