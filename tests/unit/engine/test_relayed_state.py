"""State in Spark's form that a Spark of its own reads, where that fails."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from scurry.common.errors import StateError
from scurry.engine.spark import relayed_state


def test_a_spark_that_cannot_read_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "25333")

    def fails(command: list[str], env: dict[str, str], **_: Any) -> Any:
        assert "PYSPARK_GATEWAY_PORT" not in env, "it must not join the JVM of the job"
        return subprocess.CompletedProcess(command, 1, stderr=b"at java\nno memory for a JVM\n")

    monkeypatch.setattr(subprocess, "run", fails)
    with pytest.raises(StateError, match=r"has failed: no memory for a JVM\. Start from the save"):
        relayed_state._read(tmp_path, tmp_path, 1)
