"""``scurry demo`` from the console command to its verdict."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def demo(*options: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "scurry.cli.main", "demo", *options],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "COLUMNS": "100"},
        timeout=240,
        check=False,
    )


@pytest.mark.e2e
def test_the_demo_finds_the_fraud_and_checks_its_results() -> None:
    finished = demo("--events", "60000", "--seed", "3")
    assert finished.returncode == 0, finished.stdout + finished.stderr
    printed = finished.stdout
    batches = re.findall(r"^micro-batch (\d+)  payments ([\d,]+)", printed, re.MULTILINE)
    assert batches == [("0", "25,000"), ("1", "50,000"), ("2", "60,000")]
    found = dict(re.findall(r"^([a-z ]+): ([\d,]+) found, \2 expected: matches$", printed, re.M))
    assert sorted(found) == [
        "alerts",
        "late payments",
        "state entries at the end",
        "totals of windows",
    ]
    assert int(found["alerts"]) > 10
    assert int(found["late payments"]) > 10
    assert "the first 10 of them" in printed
    assert "MISMATCH" not in printed
