"""Settings of table environments, and results as they are shown."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest

from scurry.common.configuration import Configuration
from scurry.common.data_types import DataType, DataTypes
from scurry.common.errors import ConfigurationError, NotSupportedError, ProgramError
from scurry.common.types import Row, RowKind
from scurry.table.catalog import ResolvedSchema
from scurry.table.changelog_mode import ChangelogMode
from scurry.table.environment_settings import EnvironmentSettings
from scurry.table.result_kind import ResultKind
from scurry.table.sql_dialect import SqlDialect
from scurry.table.table_config import TableConfig
from scurry.table.table_result import TableResult
from scurry.table.tableau import Tableau
from scurry.table.texts import sql_text


def test_environment_settings() -> None:
    assert EnvironmentSettings.in_streaming_mode().is_streaming_mode()
    assert not EnvironmentSettings.in_batch_mode().is_streaming_mode()
    settings = (
        EnvironmentSettings.new_instance()
        .with_configuration(Configuration().set_string("table.exec.state.ttl", "1 h"))
        .with_built_in_catalog_name("c")
        .with_built_in_database_name("d")
        .build()
    )
    assert settings.get_built_in_catalog_name() == "c"
    assert settings.get_built_in_database_name() == "d"
    assert settings.get_configuration().get_string("table.exec.state.ttl", "") == "1 h"


def test_table_config() -> None:
    config = TableConfig.get_default()
    config.set("table.exec.mini-batch.enabled", "true")
    assert config.get("table.exec.mini-batch.enabled", "") == "true"
    with pytest.raises(ConfigurationError, match="write true or false"):
        config.set("table.exec.mini-batch.enabled", "perhaps")
    config.set_local_timezone("Europe/Berlin")
    assert config.get_local_timezone() == "Europe/Berlin"
    config.set_local_timezone("GMT-08:00")
    with pytest.raises(ConfigurationError, match="which is no time zone"):
        config.set_local_timezone("Europe/Berln")
    config.set_idle_state_retention(timedelta(hours=2))
    assert config.get_idle_state_retention() == timedelta(hours=2)
    assert config.to_map()["table.exec.state.ttl"] == "7200000 ms"
    assert config.get_sql_dialect() is SqlDialect.DEFAULT
    with pytest.raises(NotSupportedError, match="Flink's dialect only"):
        config.set_sql_dialect(SqlDialect.HIVE)
    with pytest.raises(ProgramError, match="takes a key and a value"):
        config.set("a", None)  # type: ignore[arg-type]


def test_changelog_modes() -> None:
    assert ChangelogMode.insert_only().contains_only(RowKind.INSERT)
    assert not ChangelogMode.upsert().contains(RowKind.UPDATE_BEFORE)
    assert ChangelogMode.all().get_contained_kinds() == set(RowKind)


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (True, DataTypes.BOOLEAN(), "TRUE"),
        (1.5, DataTypes.DOUBLE(), "1.5"),
        (1e20, DataTypes.DOUBLE(), "1.0E20"),
        (1.1, DataTypes.FLOAT(), "1.1"),
        (Decimal("1.50"), DataTypes.DECIMAL(5, 2), "1.50"),
        (datetime(2024, 1, 1, 10), DataTypes.TIMESTAMP(0), "2024-01-01 10:00:00"),  # noqa: DTZ001
        (datetime(2024, 1, 1, tzinfo=UTC), DataTypes.TIMESTAMP_LTZ(3), "2024-01-01 01:00:00.000"),
        (date(2024, 1, 1), DataTypes.DATE(), "2024-01-01"),
        (time(10), DataTypes.TIME(), "10:00:00"),
        ([1, None], DataTypes.ARRAY(DataTypes.INT()), "[1, NULL]"),
        ({"a": 1}, DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()), "{a=1}"),
        (Row(1, "z"), DataTypes.ROW([DataTypes.INT(), DataTypes.STRING()]), "(1, z)"),
        (b"\x01\x02", DataTypes.BYTES(), "x'0102'"),
        (timedelta(days=1), DataTypes.INTERVAL(DataTypes.DAY()), "+1 00:00:00.000"),
        (14, DataTypes.INTERVAL(DataTypes.YEAR()), "+1-02"),
    ],
)
def test_values_as_flink_shows_them(value: Any, kind: DataType, text: str) -> None:
    assert sql_text(value, kind, "Europe/Berlin") == text


#: What PyFlink 2.3 prints for `SELECT y, COUNT(*) c FROM (VALUES (1,'a'),(2,'a')) ... GROUP BY y`.
STREAMED = """\
+----+--------------------------------+----------------------+
| op |                              y |                    c |
+----+--------------------------------+----------------------+
| +I |                              a |                    1 |
| -U |                              a |                    1 |
| +U |                              a |                    2 |
+----+--------------------------------+----------------------+
3 rows in set"""
#: And for `SHOW FULL MODULES`.
SHOWN = """\
+-------------+------+
| module name | used |
+-------------+------+
|        core | TRUE |
+-------------+------+
1 row in set"""


def test_a_streamed_result_is_shown_with_kinds() -> None:
    schema = ResolvedSchema.physical(
        ["y", "c"], [DataTypes.CHAR(1, False), DataTypes.BIGINT(False)]
    )
    rows = [
        Row.of_kind(RowKind.INSERT, "a", 1),
        Row.of_kind(RowKind.UPDATE_BEFORE, "a", 1),
        Row.of_kind(RowKind.UPDATE_AFTER, "a", 2),
    ]
    assert "\n".join(Tableau(schema, streaming=True).lines(rows)) == STREAMED
    assert list(Tableau(schema, streaming=True).lines([])) == ["Empty set"]


def test_widths_follow_types() -> None:
    kinds = [DataTypes.INT(), DataTypes.BOOLEAN(), DataTypes.DECIMAL(5, 2), DataTypes.TIMESTAMP(3)]
    schema = ResolvedSchema.physical(["a", "b", "c", "d"], kinds)
    first = next(iter(Tableau(schema, streaming=True).lines([Row(1, None, None, None)])))
    assert [len(part) - 2 for part in first.strip("+").split("+")] == [2, 11, 6, 7, 23]


def test_long_values_are_cut() -> None:
    schema = ResolvedSchema.physical(["s"], [DataTypes.STRING()])
    lines = list(Tableau(schema, streaming=True).lines([Row("x" * 31)]))
    assert lines[3] == f"| +I | {'x' * 27}... |"


def test_results_that_are_there_already(capsys: pytest.CaptureFixture[str]) -> None:
    schema = ResolvedSchema.physical(
        ["module name", "used"], [DataTypes.STRING(), DataTypes.BOOLEAN()]
    )
    result = TableResult.of_rows(schema, [("core", True)])
    assert "\n".join(result.lines()) == SHOWN
    with result.collect() as rows:
        assert list(map(repr, rows)) == ["<Row('core', True)>"]
    assert result.get_result_kind() is ResultKind.SUCCESS_WITH_CONTENT
    done = TableResult.ok()
    done.print()
    assert capsys.readouterr().out == "OK\n"
    assert done.get_result_kind() is ResultKind.SUCCESS
    assert done.get_job_client() is None
    done.wait()
    assert done.get_table_schema().get_field_names() == ["result"]
