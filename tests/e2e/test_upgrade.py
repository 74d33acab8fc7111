"""The example of a job's life runs, and finds all its results right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.e2e
def test_a_job_is_upgraded_rescaled_and_rolled_back() -> None:
    ended = subprocess.run(
        [sys.executable, ROOT / "examples" / "upgrade" / "upgrade.py"],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "SCURRY_MASTER": "local[2]"},
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.count("as the orders say") == 11
    assert ended.stdout.splitlines()[-1] == "all results are right"
