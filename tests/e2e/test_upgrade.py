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
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "SCURRY_MASTER": "local[2]",
            "COLUMNS": "200",
        },
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.count("as the orders say") == 11
    assert ended.stdout.splitlines()[-1] == "all results are right"
    # what the tutorial shows of it is what is printed
    printed = {" ".join(line.split()) for line in ended.stdout.splitlines()}
    assert [line for line in shown_by_diff() if line not in printed] == []


def shown_by_diff() -> list[str]:
    """The lines that the tutorial shows below its ``scurry diff``."""
    page = (ROOT / "docs" / "howto" / "upgrade.md").read_text()
    block = page.partition("$ scurry diff")[2].partition("```")[0]
    lines = [" ".join(line.split()) for line in block.splitlines()[1:]]
    assert len(lines) > 4
    return lines
