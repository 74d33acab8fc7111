"""TO_CHANGELOG and FROM_CHANGELOG: kinds of changes as a column, and a column as kinds."""

from __future__ import annotations

import pytest

from scurry.common.errors import FunctionError, ProgramError, ScurryError
from scurry.table import EnvironmentSettings, Table, TableEnvironment
from scurry.table.expressions import col, descriptor, map_
from scurry.testing.tables import changes_of_table


@pytest.fixture
def counts(env: TableEnvironment) -> Table:
    """A table that is updated."""
    rows = env.from_elements([(1, "a"), (2, "b"), (3, "a")], ["id", "s"])
    return rows.group_by(col("s")).select(col("s"), col("id").count.alias("n"))


@pytest.fixture
def changes(env: TableEnvironment) -> Table:
    """Rows that are changes."""
    rows = [("INSERT", 1), ("UPDATE_BEFORE", 1), ("UPDATE_AFTER", 2), ("DELETE", 2)]
    return env.from_elements(rows, ["op", "id"])


def test_changes_are_rows(counts: Table) -> None:
    found = counts.to_changelog()
    assert found.get_schema().get_field_names() == ["op", "s", "n"]
    assert changes_of_table(found) == [
        ("+I", "INSERT", "a", 1),
        ("+I", "INSERT", "b", 1),
        ("+I", "UPDATE_BEFORE", "a", 1),
        ("+I", "UPDATE_AFTER", "a", 2),
    ]


def test_kinds_have_other_codes(counts: Table) -> None:
    found = counts.to_changelog(
        descriptor("what").as_argument("op"),
        map_("INSERT, UPDATE_AFTER", "C", "DELETE", "D").as_argument("op_mapping"),
    )
    assert changes_of_table(found.select(col("what"), col("s"), col("n"))) == [
        ("+I", "C", "a", 1),
        ("+I", "C", "b", 1),
        ("+I", "C", "a", 2),
    ]


def test_rows_are_changes(changes: Table) -> None:
    found = changes.from_changelog()
    assert found.get_schema().get_field_names() == ["id"]
    assert changes_of_table(found) == [("+I", 1), ("-U", 1), ("+U", 2), ("-D", 2)]


def test_there_and_back(counts: Table) -> None:
    expected = changes_of_table(counts)
    found = counts.to_changelog().from_changelog()
    assert changes_of_table(found, cuts=1, crash=[2]) == expected


def test_codes_stand_for_kinds(env: TableEnvironment) -> None:
    rows = env.from_elements([("c", 1), ("r", 2), ("d", 1)], ["what", "id"])
    found = rows.from_changelog(
        descriptor("what").as_argument("op"),
        map_("c, r", "INSERT", "d", "DELETE").as_argument("op_mapping"),
    )
    assert changes_of_table(found) == [("+I", 1), ("+I", 2), ("-D", 1)]


@pytest.mark.parametrize("code", ["x", None])
def test_a_code_that_stands_for_nothing(env: TableEnvironment, code: str | None) -> None:
    rows = env.from_elements([("INSERT", 1), (code, 2)], ["op", "id"])
    with pytest.raises(FunctionError, match=f"the column op has {code!r}, which stands for no"):
        changes_of_table(rows.from_changelog())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("TO_CHANGELOG(TABLE counts PARTITION BY s)", "its table has no PARTITION BY"),
        ("TO_CHANGELOG(DESCRIPTOR(k))", "TO_CHANGELOG needs a table as its first argument"),
        ("TO_CHANGELOG(TABLE counts, 'k')", "needs the column of codes as the argument op"),
        ("TO_CHANGELOG(TABLE counts, DESCRIPTOR(n))", "The table has a column n already"),
        ("TO_CHANGELOG(input => TABLE counts, col => 1)", "There is no parameter col"),
        (
            "TO_CHANGELOG(input => TABLE counts, op_mapping => MAP['INSRT', 'I'])",
            "There is no kind of change INSRT",
        ),
        (
            "TO_CHANGELOG(input => TABLE counts, op_mapping => MAP['INSERT, INSERT', 'I'])",
            "op_mapping has INSERT twice",
        ),
        ("TO_CHANGELOG(input => TABLE counts, op_mapping => 'I')", "is a map of constant texts"),
        ("TO_CHANGELOG(input => TABLE counts, op_mapping => MAP['DELETE', 1])", "constant texts"),
        ("TO_CHANGELOG(input => TABLE counts, op_mapping => MAP['DELETE'])", "constant texts"),
        ("FROM_CHANGELOG(TABLE counts, DESCRIPTOR(s))", "a table that is updated is not supported"),
        ("FROM_CHANGELOG(TABLE changes, DESCRIPTOR(o))", "There is no column o"),
        ("FROM_CHANGELOG(TABLE changes, DESCRIPTOR(id))", "needs codes that are texts, and id is"),
        (
            "FROM_CHANGELOG(input => TABLE changes, op_mapping => MAP['u', 'UPDATE_AFTER'])",
            "op_mapping has UPDATE_AFTER without UPDATE_BEFORE",
        ),
        (
            "FROM_CHANGELOG(input => TABLE changes, op_mapping => MAP['u, u', 'INSERT'])",
            "op_mapping has u twice",
        ),
    ],
)
def test_what_is_refused(
    env: TableEnvironment, counts: Table, changes: Table, call: str, message: str
) -> None:
    env.create_temporary_view("counts", counts)
    env.create_temporary_view("changes", changes)
    with pytest.raises(ScurryError) as refusal:
        changes_of_table(env.sql_query(f"SELECT * FROM {call}"))
    assert message in str(refusal.value)
    assert "^" in str(refusal.value)


def test_arguments_have_names(counts: Table) -> None:
    with pytest.raises(ProgramError, match="to_changelog takes arguments by name"):
        counts.to_changelog(descriptor("k"))


def test_batch_mode_has_no_changes() -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    rows = env.from_elements([("INSERT", 1)], ["op", "id"])
    with pytest.raises(ScurryError, match="FROM_CHANGELOG in batch mode is not supported"):
        rows.from_changelog()
