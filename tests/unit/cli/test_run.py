"""``scurry run``: what the program sees, and how its failures are shown."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import scurry.cli.failures as failures
from scurry.cli.main import main
from scurry.common import Configuration
from scurry.common.options.checkpoints import ALLOW_DROPPED

SHOW = "import json, os, sys\nprint(json.dumps({expression}))\n"


def run_program(
    tmp_path: Path, source: str, *arguments: str, before: tuple[str, ...] = ()
) -> Result:
    file = tmp_path / "job.py"
    file.write_text(source)
    return CliRunner().invoke(main, ["run", *before, str(file), *arguments])


def shown(tmp_path: Path, expression: str, *arguments: str, before: tuple[str, ...] = ()) -> object:
    result = run_program(tmp_path, SHOW.format(expression=expression), *arguments, before=before)
    assert result.exit_code == 0, result.output
    return json.loads(result.output)


def test_the_program_is_main_and_gets_all_arguments_after_its_name(tmp_path: Path) -> None:
    seen = shown(tmp_path, "[__name__, sys.argv]", "--master", "x", "-v", "input.csv")
    assert seen == ["__main__", [str(tmp_path / "job.py"), "--master", "x", "-v", "input.csv"]]


def test_modules_beside_the_program_are_importable_here_and_in_workers(tmp_path: Path) -> None:
    (tmp_path / "rules_beside_job.py").write_text("LIMIT = 3\n")
    expression = "[__import__('rules_beside_job').LIMIT, os.environ['PYTHONPATH']]"
    limit, path = shown(tmp_path, expression)  # type: ignore[misc]
    assert limit == 3
    assert path.split(os.pathsep)[0] == str(tmp_path)


def test_an_existing_pythonpath_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/there")
    path = shown(tmp_path, "os.environ['PYTHONPATH']")
    assert path == f"{tmp_path}{os.pathsep}/there"


def test_options_reach_the_program_as_environment_variables(tmp_path: Path) -> None:
    before = ("--master", "local[3]", "--parallelism", "4", "--conf", "a.b=1", "--conf", "c=x=y")
    expression = "[os.environ.get('SCURRY_' + n) for n in ('MASTER', 'PARALLELISM', 'CONF')]"
    assert shown(tmp_path, expression, before=before) == [
        "local[3]",
        "4",
        '{"a.b": "1", "c": "x=y"}',
    ]


@pytest.mark.parametrize("flag", ["-n", "--allow-non-restored-state", "--allowNonRestoredState"])
def test_leave_to_drop_state_is_a_configuration_value(tmp_path: Path, flag: str) -> None:
    before = (flag, "--conf", "a.b=1")
    conf = shown(tmp_path, "json.loads(os.environ['SCURRY_CONF'])", before=before)
    assert conf == {"a.b": "1", "execution.state-recovery.ignore-unclaimed-state": "true"}


def test_leave_to_drop_state_by_uid_is_a_configuration_value(tmp_path: Path) -> None:
    before = ("--allow-dropped", "a, b", "--allow-dropped", "c")
    conf = shown(tmp_path, "json.loads(os.environ['SCURRY_CONF'])", before=before)
    assert ALLOW_DROPPED.read(Configuration.of(conf)) == ("a, b", "c")


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("s3://bucket/job/one", "s3://bucket/job/one"),
        ("file:///there/one", "/there/one"),
        ("/there/one", "/there/one"),
        ("one", str(Path("one").absolute())),
    ],
)
def test_a_savepoint_is_a_path_or_a_url(tmp_path: Path, given: str, meant: str) -> None:
    before = ("--from-savepoint", given)
    conf = shown(tmp_path, "json.loads(os.environ['SCURRY_CONF'])", before=before)
    assert conf == {"execution.state-recovery.path": meant}


def test_absent_options_set_no_variable(tmp_path: Path) -> None:
    names = "('SCURRY_MASTER', 'SCURRY_PARALLELISM', 'SCURRY_CONF')"
    assert shown(tmp_path, f"[n for n in {names} if n in os.environ]") == []


def test_arguments_path_and_environment_are_restored(tmp_path: Path) -> None:
    before = (sys.argv, list(sys.path), dict(os.environ))
    source = "import os, sys; os.environ['LEFT'] = '1'; sys.path.append('/left')"
    run_program(tmp_path, source, before=("--master", "local"))
    assert (sys.argv, sys.path, dict(os.environ)) == before


@pytest.mark.parametrize("pair", ["novalue", "=1", " =1"])
def test_a_malformed_conf_is_a_usage_error(tmp_path: Path, pair: str) -> None:
    result = run_program(tmp_path, "", before=("--conf", pair))
    assert result.exit_code == 2
    assert f"{pair!r} is not of the form key=value" in result.output


def test_a_parallelism_below_one_is_a_usage_error(tmp_path: Path) -> None:
    result = run_program(tmp_path, "", before=("--parallelism", "0"))
    assert result.exit_code == 2
    assert "0 is not in the range x>=1" in result.output


def test_an_absent_file_is_a_usage_error(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["run", str(tmp_path / "absent.py")])
    assert result.exit_code == 2
    assert "does not exist" in result.output


def test_the_exit_code_of_the_program_is_kept(tmp_path: Path) -> None:
    assert run_program(tmp_path, "raise SystemExit(5)").exit_code == 5


FAILING = (
    "from scurry.common.errors import ScurryError\n"
    "class UnknownUid(ScurryError):\n    pass\n"
    "def build():\n    raise UnknownUid('no operator [red] has uid x: name one')\n"
    "build()\n"
)


def test_an_error_of_scurry_is_shown_without_traceback(tmp_path: Path) -> None:
    result = run_program(tmp_path, FAILING)
    assert result.exit_code == 1
    assert result.output.startswith("UnknownUid: no operator [red] has uid x: name one\n")
    assert f"raised from {tmp_path / 'job.py'}:5" in result.output
    assert "Traceback" not in result.output


def test_the_traceback_option_shows_the_traceback_from_the_program_on(tmp_path: Path) -> None:
    result = run_program(tmp_path, FAILING, before=("--traceback",))
    assert result.exit_code == 1
    assert result.output.startswith("Traceback (most recent call last):\n")
    assert "runpy" not in result.output
    assert "in build" in result.output


def test_any_other_error_keeps_its_traceback_from_the_program_on(tmp_path: Path) -> None:
    result = run_program(tmp_path, "1 / 0\n")
    assert result.exit_code == 1
    assert f'File "{tmp_path / "job.py"}", line 1' in result.output
    assert result.output.endswith("ZeroDivisionError: division by zero\n")
    assert "runpy" not in result.output


def test_a_syntax_error_is_shown_with_its_line(tmp_path: Path) -> None:
    result = run_program(tmp_path, "x = = 1\n")
    assert result.exit_code == 1
    assert result.output.startswith(f'  File "{tmp_path / "job.py"}", line 1\n')
    assert "SyntaxError: invalid syntax" in result.output


def test_on_a_terminal_the_error_is_a_panel_that_shows_its_text_as_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    failures._print_panel("UnknownUid", "no operator [red] has uid x", None)
    shown_text = capsys.readouterr().err
    assert "UnknownUid" in shown_text
    assert "no operator [red] has uid x" in shown_text
    assert "╭" in shown_text
