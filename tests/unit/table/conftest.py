"""Table environments for tests."""

from __future__ import annotations

import pytest

from scurry.table import EnvironmentSettings, TableEnvironment


@pytest.fixture
def env() -> TableEnvironment:
    """A streaming environment in which nothing is defined."""
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
