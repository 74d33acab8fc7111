"""``scurry doctor``: how findings are shown, and the exit code."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import scurry.cli.doctor as doctor_module
from scurry.cli.checks import Finding, Verdict
from scurry.cli.doctor import _print_table, as_lines, summary
from scurry.cli.main import main

GOOD = Finding("Python", Verdict.OK, "3.12.1")
POOR = Finding("memory", Verdict.WARN, "8 GB", "End other programs.")
BAD = Finding("Java", Verdict.FAIL, "none", "Install a JDK.")


@pytest.fixture
def findings(monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    """What the examination will find; a test fills it."""
    found: list[Finding] = []
    monkeypatch.setattr(doctor_module, "examine", lambda machine: found)
    return found


def test_piped_output_is_plain_lines_with_the_remedy_below(findings: list[Finding]) -> None:
    findings += [GOOD, POOR, BAD]
    result = CliRunner().invoke(main, ["doctor"])
    assert result.output.splitlines() == [
        "ok    Python  3.12.1",
        "warn  memory  8 GB",
        "              -> End other programs.",
        "fail  Java    none",
        "              -> Install a JDK.",
        "1 ok, 1 warn, 1 fail",
    ]
    assert result.exit_code == 1


def test_warnings_alone_exit_with_0(findings: list[Finding]) -> None:
    findings += [GOOD, POOR]
    assert CliRunner().invoke(main, ["doctor"]).exit_code == 0


def test_json_holds_every_finding_and_the_overall_verdict(findings: list[Finding]) -> None:
    findings += [GOOD, BAD]
    result = CliRunner().invoke(main, ["doctor", "--json"])
    assert json.loads(result.output) == {
        "ok": False,
        "checks": [
            {"name": "Python", "verdict": "ok", "found": "3.12.1", "remedy": ""},
            {"name": "Java", "verdict": "fail", "found": "none", "remedy": "Install a JDK."},
        ],
    }
    assert result.exit_code == 1


def test_json_of_a_sound_machine_is_ok(findings: list[Finding]) -> None:
    findings += [GOOD, POOR]
    result = CliRunner().invoke(main, ["doctor", "--json"])
    assert json.loads(result.output)["ok"] is True
    assert result.exit_code == 0


def test_a_table_shows_text_as_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    _print_table([Finding("Java", Verdict.FAIL, "[red]17[/red]", "Mend it.")])
    shown = capsys.readouterr().out
    assert "[red]17[/red]" in shown
    assert "Mend it." in shown
    assert "1 fail" in shown


def test_the_summary_of_a_sound_machine_says_so() -> None:
    assert summary([GOOD, GOOD]) == "All 2 checks are ok."
    assert as_lines([GOOD]).endswith("All 1 checks are ok.")


def test_the_real_machine_gets_a_verdict_for_every_check() -> None:
    result = CliRunner().invoke(main, ["doctor", "--json"])
    assert {check["verdict"] for check in json.loads(result.output)["checks"]} <= set(Verdict)
