"""A checkpoint directory that cannot be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from scurry.checkpoint.directory import JobDirectory
from scurry.common.errors import ConfigurationError
from scurry.datastream import StreamExecutionEnvironment
from scurry.runtime.specs import JobSpec


def spec() -> JobSpec:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).print()
    return env._compile(None).spec


def refused(location: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        JobDirectory(location).prepare(spec())
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    text = str(caught.value)
    assert f"The checkpoint directory {location!r} (execution.checkpointing.dir)" in text
    assert "Give one that" in text
    return text


def test_a_directory_that_cannot_be_made() -> None:
    assert "/proc/nowhere" in refused("/proc/nowhere/job")


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "job").write_text("not a directory")
    assert "File exists" in refused(str(tmp_path / "job")) or "Not a directory" in refused(
        str(tmp_path / "job")
    )
