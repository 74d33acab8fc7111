"""``scurry savepoint read``: what it asks for, and how it prints what it gets."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from scurry.cli import state_tables
from scurry.cli.main import main

TABLE = pa.table(
    {
        "key": ["ann", "b\x1b[31m", "c"],
        "entries": [[{"key": 1, "value": b"\x01"}], [], None],
    }
)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The calls of the functions that read, which all give the same table."""
    calls: list[Any] = []

    def stand_in(name: str) -> Any:
        def call(*arguments: Any, **settings: Any) -> pa.Table:
            calls.append((name, *arguments))
            return TABLE

        return call

    for name in ("read", "read_timers", "read_windows", "list_states"):
        monkeypatch.setattr(state_tables, name, stand_in(name))
    return calls


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["savepoint", "read", *arguments])
    return done.exit_code, done.output


@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        (["sp", "op", "count"], ("read", "sp", "op", "count")),
        (["sp", "op", "--timers"], ("read_timers", "sp", "op")),
        (["sp", "op", "--windows"], ("read_windows", "sp", "op")),
        (["sp"], ("list_states", "sp")),
    ],
)
def test_what_is_read(asked: list[Any], arguments: list[str], call: Any) -> None:
    assert run(*arguments)[0] == 0
    assert asked == [call]


@pytest.mark.parametrize(
    "arguments",
    [
        ["sp", "op"],
        ["sp", "--timers"],
        ["sp", "op", "count", "--timers"],
        ["sp", "op", "--timers", "--windows"],
    ],
)
def test_what_does_not_fit_together(asked: list[Any], arguments: list[str]) -> None:
    code, said = run(*arguments)
    assert (code, asked) == (2, [])
    assert "--windows, or neither" in said


def test_it_is_printed_as_a_table_or_as_lines_of_json(asked: list[Any]) -> None:
    _, shown = run("sp", "op", "count")
    assert [line.split() for line in shown.splitlines()[:2]] == [
        ["key", "entries"],
        ["ann", '[{"key":', "1,", '"value":', '"01"}]'],
    ]
    # nothing that was chosen by somebody else reaches the terminal as a command
    assert "\x1b" not in shown
    _, lines = run("sp", "op", "count", "--json")
    assert [json.loads(line) for line in lines.splitlines()] == [
        {"key": "ann", "entries": [{"key": 1, "value": "01"}]},
        {"key": "b\x1b[31m", "entries": []},
        {"key": "c", "entries": None},
    ]


def test_a_limit_says_what_it_leaves_out(asked: list[Any]) -> None:
    _, shown = run("sp", "op", "count", "--limit", "1")
    assert "and 2 more" in shown
    assert len(run("sp", "op", "count", "--limit", "2", "--json")[1].splitlines()) == 2
    assert len(run("sp", "op", "count", "--limit", "0", "--json")[1].splitlines()) == 3


def test_an_error_is_one_line() -> None:
    code, said = run("/nowhere", "op", "count")
    assert code == 1
    assert said.startswith("Error: /nowhere is neither a checkpoint nor a savepoint")
