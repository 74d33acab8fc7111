"""Where there is no broker to be had, the reason is told, and CI fails rather than skips."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scurry.testing.kafka import ServerMissing, maven_jars

ROOT = Path(__file__).parents[2]


def test_without_maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCURRY_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ServerMissing, match="mvn, which would fetch the jars of k-1, is not here"):
        maven_jars("k-1", "a:b:1")


def test_maven_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "mvn"
    program.write_text("#!/bin/sh\necho '[ERROR] no network'\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("SCURRY_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(ServerMissing, match=r"could not fetch the jars of k-1: \[ERROR\] no net"):
        maven_jars("k-1", "a:b:1")
    assert "<artifactId>b</artifactId>" in (tmp_path / "k-1" / "pom.xml").read_text()


@pytest.mark.parametrize(("required", "outcome"), [("", "1 skipped"), ("1", "1 error")])
def test_missing_servers_skip_or_fail(tmp_path: Path, required: str, outcome: str) -> None:
    options = ["-q", "-s", "-p", "no:cacheprovider", "-p", "no:randomly"]
    test = "tests/kafka/test_doctor.py::test_a_broker_that_answers_is_ok"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, test],
        cwd=ROOT,
        env={
            "PATH": str(tmp_path),
            "HOME": str(tmp_path),
            "SCURRY_REQUIRE_SERVERS": required,
            "PYTHONPATH": str(ROOT / "src"),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert outcome in done.stdout, done.stdout + done.stderr
    if not required:
        assert "*** SKIPPED: the Kafka tests do not run: mvn" in done.stdout
