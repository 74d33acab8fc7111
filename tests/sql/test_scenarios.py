"""Every scenario in the local engine: whole, cut at random, crashed, restarted, rescaled."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.sql.scenario import Scenario, all_scenarios, change_text, table_text

from scurry.common.errors import ScurryError
from scurry.table import EnvironmentSettings, Table, TableEnvironment
from scurry.testing.tables import changes_of_table

SCENARIOS = all_scenarios()
RUNNING = [one for one in SCENARIOS if one.refused is None]
REFUSED = [one for one in SCENARIOS if one.refused is not None]


def build(
    scenario: Scenario, directory: Path, settings: EnvironmentSettings | None = None
) -> Table:
    """The query of a scenario, in an environment of its own."""
    env = TableEnvironment.create(settings or EnvironmentSettings.in_streaming_mode())
    env.get_config().set_local_timezone("UTC")
    scenario.write_files(directory)
    for statement in scenario.definitions(directory):
        env.execute_sql(statement)
    return env.sql_query(scenario.query(directory))


def texts(changes: list[tuple[object, ...]]) -> list[str]:
    return [change_text(str(kind), values) for kind, *values in changes]


def ident(scenario: Scenario) -> str:
    return scenario.name


@pytest.mark.parametrize("scenario", RUNNING, ids=ident)
def test_every_change_is_flinks(scenario: Scenario, tmp_path: Path) -> None:
    found = texts(changes_of_table(build(scenario, tmp_path)))
    assert table_text(found) == scenario.table
    if scenario.changes is not None:
        assert found == scenario.changes


@pytest.mark.parametrize("scenario", RUNNING, ids=ident)
def test_cuts_and_crashes_do_not_matter(scenario: Scenario, tmp_path: Path) -> None:
    rng = random.Random(scenario.name)
    table = build(scenario, tmp_path)
    cuts = [rng.randint(1, 3) for _ in range(50)]
    found = texts(changes_of_table(table, cuts, crash=[1, 3], restart=[2]))
    assert table_text(found) == scenario.table
    if scenario.changes is not None and len(scenario.files) == 1:
        assert found == scenario.changes


@pytest.mark.parametrize("scenario", RUNNING, ids=ident)
def test_parallelism_does_not_matter(scenario: Scenario, tmp_path: Path) -> None:
    table = build(scenario, tmp_path)
    found = texts(changes_of_table(table, 2, rescale={2: 3}, parallelism=2))
    assert table_text(found) == scenario.table


@pytest.mark.parametrize("scenario", REFUSED, ids=ident)
def test_what_cannot_run_is_refused_when_it_is_planned(scenario: Scenario, tmp_path: Path) -> None:
    assert scenario.refused is not None
    with pytest.raises(ScurryError) as refusal:
        changes_of_table(build(scenario, tmp_path))
    assert scenario.refused in str(refusal.value)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=ident)
def test_batch_mode_sends_the_final_table_once(scenario: Scenario, tmp_path: Path) -> None:
    expected = scenario.table if scenario.batch is None else scenario.batch
    batch = EnvironmentSettings.in_batch_mode()
    if scenario.refused_in_batch is not None or expected is None:
        with pytest.raises(ScurryError) as refusal:
            changes_of_table(build(scenario, tmp_path, batch))
        assert (scenario.refused_in_batch or scenario.refused or "") in str(refusal.value)
        return
    table = build(scenario, tmp_path, batch)
    found = changes_of_table(table, 2, crash=[1], rescale={2: 3}, parallelism=2)
    assert {kind for kind, *_ in found} <= {"+I"}
    assert table_text(texts(found)) == expected
