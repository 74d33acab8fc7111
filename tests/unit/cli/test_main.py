"""The command itself: version, help, start-up cost, and the demonstration."""

from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType

import pytest
from click.testing import CliRunner

from scurry import __version__
from scurry.cli.main import main


def test_version() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert (result.exit_code, result.output) == (0, f"scurry {__version__}\n")


def test_help_names_every_subcommand() -> None:
    result = CliRunner().invoke(main, ["-h"])
    assert result.exit_code == 0
    assert all(f"  {name} " in result.output for name in ("demo", "doctor", "run"))


def test_starting_the_command_imports_nothing_heavy() -> None:
    code = (
        "import sys, scurry.cli.main\n"
        "heavy = {'pyspark', 'py4j', 'pandas', 'numpy', 'pyarrow', 'lmdb', 'rich'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
    )
    assert done.stdout == "[]\n"


@pytest.fixture
def demo_calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Put a stand-in for the application in place and record how it is called."""
    calls: list[tuple[int, int]] = []

    def application(events: int, seed: int) -> int:
        calls.append((events, seed))
        return 3

    module = ModuleType("scurry.apps.card_fraud")
    module.main = application  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "scurry.apps", ModuleType("scurry.apps"))
    monkeypatch.setitem(sys.modules, "scurry.apps.card_fraud", module)
    return calls


def test_demo_hands_its_options_on_and_exits_with_the_code_of_the_application(
    demo_calls: list[tuple[int, int]],
) -> None:
    result = CliRunner().invoke(main, ["demo", "--events", "500", "--seed", "11"])
    assert (result.exit_code, demo_calls) == (3, [(500, 11)])


def test_demo_has_defaults(demo_calls: list[tuple[int, int]]) -> None:
    CliRunner().invoke(main, ["demo"])
    assert demo_calls == [(300_000, 7)]


def test_demo_refuses_a_number_of_events_below_one(demo_calls: list[tuple[int, int]]) -> None:
    result = CliRunner().invoke(main, ["demo", "--events", "0"])
    assert (result.exit_code, demo_calls) == (2, [])
    assert "0 is not in the range x>=1" in result.output
