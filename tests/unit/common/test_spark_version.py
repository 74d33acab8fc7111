"""A PySpark that is too old is named before it fails in its own words."""

from __future__ import annotations

import pytest

from scurry.common.errors import ConfigurationError
from scurry.common.spark_version import check_spark_version
from scurry.datastream import StreamExecutionEnvironment


@pytest.mark.parametrize("found", ["4.2.1", "3.5.1", "4.0.0.dev1"])
def test_an_older_one_is_refused(found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scurry.common.spark_version.version", lambda name: found)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).print()
    with pytest.raises(ConfigurationError, match=f"PySpark {found} is too old .*needs 4.3"):
        env.execute_async()


@pytest.mark.parametrize("found", ["4.3.0", "4.3.0.dev1", "4.4.1", "5.0", "unknown"])
def test_others_are_taken(found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scurry.common.spark_version.version", lambda name: found)
    check_spark_version()
