"""Where things are in a job's directory."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import scurry
from scurry.checkpoint.layout import Home, Layout, draft_of, is_draft

#: The names of a job's directory, which nobody but the layout may spell out.
NAMES = {
    "job.json",
    "plans",
    "epochs",
    "runs",
    "log",
    "waiting",
    "_after.json",
    "generation-",
    "driver-",
    "leases",
}


def test_the_first_generation_is_the_directory_itself(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    assert layout.manifest == tmp_path / "job.json"
    assert layout.home(0) == Home(tmp_path)
    assert layout.home(3) == Home(tmp_path / "generation-3")


def test_the_places_of_a_generation() -> None:
    home = Home(Path("/job"))
    assert [str(place) for place in home.parts] == [
        *("/job/spark", "/job/plans", "/job/epochs", "/job/instances", "/job/logs"),
        *("/job/runs", "/job/log", "/job/state", "/job/feeds", "/job/waiting"),
    ]
    assert str(home.share(home.plan(12), 0)) == "/job/plans/000000012/0"
    assert str(home.after(home.plan(12))) == "/job/plans/000000012/_after.json"
    assert str(home.epoch(12)) == "/job/epochs/12.json"
    assert str(home.runs(1, 0)) == "/job/runs/1-0"
    assert str(home.log(1, 0)) == "/job/log/1-0"
    assert str(home.initial_state_of(2, 0)) == "/job/state/2/0"
    assert str(home.spark_commit(7)) == "/job/spark/commits/7"


def test_plans_are_listed_in_the_order_of_their_numbers() -> None:
    home = Home(Path("/job"))
    assert sorted([home.plan(1000), home.plan(9), home.plan(99)]) == [
        *(home.plan(9), home.plan(99), home.plan(1000)),
    ]


def test_all_of_a_generation_lies_in_one_of_its_parts() -> None:
    home = Home(Path("/job/generation-1"))
    files = (home.share(home.plan(1), 0), home.epoch(1), home.runs(1, 1), home.log(1, 1))
    for place in (*files, home.initial_state_of(1, 1), home.spark_commit(0), home.waiting):
        assert sum(place.is_relative_to(part) for part in home.parts) == 1


def test_other_generations_are_found_and_nothing_else(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    for place in (layout.home(1).path, layout.home(2).path, layout.home(0).plans):
        place.mkdir()
    assert layout.generations() == [1, 2]


def test_a_driver_has_its_own_files_and_shares_the_others(tmp_path: Path) -> None:
    home = Layout(tmp_path).home(3, driver=7)
    own = tmp_path / "generation-3" / "driver-7"
    assert home.spark_commit(7) == own / "spark" / "commits" / "7"
    assert home.plan(12) == own / "plans" / "000000012"
    assert home.epoch(12) == own / "epochs" / "12.json"
    for place in (home.runs(1, 0), home.log(1, 0), home.initial_state, home.waiting):
        assert place.is_relative_to(tmp_path / "generation-3")
        assert not place.is_relative_to(own)


def test_a_driver_counts_once_it_has_a_manifest(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    for number in (2, 10, 9):
        layout.manifest_of(number).parent.mkdir()
    for number in (10, 2):
        layout.manifest_of(number).touch()
    assert layout.drivers() == [2, 10]


def test_what_dead_drivers_left_of_plans(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.plan_draft(4).mkdir()
    home.plans.mkdir()
    assert home.plan_drafts == (home.plan_draft(4),)


def test_drafts_lie_beside_what_they_become() -> None:
    place = Path("/job/epochs/3.json")
    assert draft_of(place) == Path("/job/epochs/3.json.draft")
    assert draft_of(place, "me") == Path("/job/epochs/3.json.me.draft")
    assert is_draft(draft_of(place, "me").name)
    assert not is_draft(place.name)


@pytest.mark.parametrize("room", ["engine", "checkpoint", "runtime", "state"])
def test_nobody_else_makes_names_of_a_job_directory(room: str) -> None:
    """No module joins a path with such a name, or makes one of such names."""
    package = Path(scurry.__file__).parent
    found = [
        f"{module.relative_to(package)}:{line}"
        for module in sorted((package / room).rglob("*.py"))
        if module.name != "layout.py"
        for line in _spelled_out(ast.parse(module.read_text()))
    ]
    assert found == []


def _spelled_out(module: ast.Module) -> Iterator[int]:
    """The lines where a path is joined with one of the names."""
    for node in ast.walk(module):
        parts: list[ast.expr] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            parts = [node.right]
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            called = node.func.id if isinstance(node.func, ast.Name) else called
            parts = node.args if called in ("Path", "join", "joinpath", "glob") else []
        for part in parts:
            first = part.values[0] if isinstance(part, ast.JoinedStr) and part.values else part
            if isinstance(first, ast.Constant) and str(first.value).rstrip("*") in NAMES:
                yield part.lineno
