"""Run the SQL scenarios of tests/sql on PyFlink and compare, or write what it gives.

    <python with apache-flink> scripts/flink_scenarios.py            (what `make diff-flink` runs)
    <python with apache-flink> scripts/flink_scenarios.py --write    (fills in new ones)
    ... --batch                                                      (the same in batch mode)

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


def run(scenario: Scenario, directory: Path, batch: bool = False) -> list[str]:
    """Every change that Flink gives, with parallelism 1."""
    streaming = EnvironmentSettings.in_streaming_mode()
    settings = EnvironmentSettings.in_batch_mode() if batch else streaming
    env = TableEnvironment.create(settings)
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


def compare_batch(scenario: Scenario, found: list[str]) -> str | None:
    """What differs in batch mode, None if nothing does."""
    expected = scenario.table if scenario.batch is None else scenario.batch
    if scenario.only_flinks_batch is not None:
        expected = scenario.only_flinks_batch
    table = table_text(found)
    return None if table == expected else f"batch: {table} instead of {expected}"


def write_batch(path: Path, title: str, lines: list[str]) -> None:
    """Add what Flink gives in batch mode, where that differs."""
    kept = path.read_text().rstrip("\n")
    path.write_text("\n".join([kept, f"-- {title}", *(f"-- {line}" for line in lines)]) + "\n")


def reason_of(failure: Exception) -> str:
    """The first exception that says something."""
    text = str(failure)
    cause = [line for line in text.splitlines() if "Exception:" in line][:2]
    return " | ".join(cause) or text[:300]


def batch_problem_of(path: Path, writing: bool) -> str | None:
    """Run a scenario in batch mode; how it differs from what its file says, None if it does not."""
    scenario = read_scenario(path)
    with tempfile.TemporaryDirectory() as directory:
        try:
            found = run(scenario, Path(directory), batch=True)
        except Exception as failure:
            if scenario.refused is not None or scenario.refused_in_batch is not None:
                return None
            reason = reason_of(failure)
            if all(words in str(failure) for words in scenario.only_flinks_batch or ("\0",)):
                return None
            if writing and "INSERT-only table sources" in reason:
                write_batch(path, "refused in batch", ["INSERT-only table sources"])
            return f"failed: {reason}"
    problem = compare_batch(scenario, found)
    if problem is not None and writing and scenario.batch is None:
        write_batch(path, "batch", table_text(found))
    return problem


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
            return None if scenario.refused is not None else f"failed: {reason_of(failure)}"
    if scenario.refused is not None:
        return f"is not refused: {found}"
    if scenario.table is None and writing:
        write(path, found)
        return None
    return compare(scenario, found)


def main() -> int:
    """Run all scenarios, or those that are named; the exit code is 1 if any differs."""
    check = batch_problem_of if "--batch" in sys.argv else problem_of
    wanted = [one for one in sys.argv[1:] if not one.startswith("--")]
    paths = [path for path in sorted(DIRECTORY.glob("*.sql")) if not wanted or path.stem in wanted]
    differ = 0
    for path in paths:
        problem = check(path, writing="--write" in sys.argv)
        verdict = "ok" if problem is None else "DIFFER"
        print(f"{verdict:6} {path.stem} {problem or ''}", flush=True)
        differ += problem is not None
    print(f"{len(paths) - differ} of {len(paths)} scenarios agree with Flink")
    return min(differ, 1)


if __name__ == "__main__":
    sys.exit(main())
