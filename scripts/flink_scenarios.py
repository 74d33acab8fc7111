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


def problem_of(path: Path, writing: bool) -> str | None:
    """Run one scenario; what is wrong with it, None if nothing is."""
    scenario = read_scenario(path)
    with tempfile.TemporaryDirectory() as directory:
        try:
            found = run(scenario, Path(directory))
        except Exception as failure:
            return None if scenario.refused is not None else _cause(failure)
    if scenario.refused is not None:
        return f"is not refused: {found}"
    if scenario.table is None and writing:
        write(path, found)
        return None
    return compare(scenario, found)


def _cause(failure: Exception) -> str:
    lines = [line for line in str(failure).splitlines() if "Exception:" in line]
    return f"failed: {' | '.join(lines[:2]) or str(failure)[:300]}"


def main() -> int:
    """Run all scenarios, or those that are named; the exit code is 1 if any differs."""
    wanted = [one for one in sys.argv[1:] if not one.startswith("--")]
    paths = [path for path in sorted(DIRECTORY.glob("*.sql")) if not wanted or path.stem in wanted]
    differ = 0
    for path in paths:
        problem = problem_of(path, writing="--write" in sys.argv)
        verdict = "ok" if problem is None else "DIFFER"
        print(f"{verdict:6} {path.stem} {problem or ''}", flush=True)
        differ += problem is not None
    print(f"{len(paths) - differ} of {len(paths)} scenarios agree with Flink")
    return min(differ, 1)


if __name__ == "__main__":
    sys.exit(main())
