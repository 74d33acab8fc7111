"""Directories that hold pickles and sockets belong to one user, and do not outlive their use."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from scurry.common.errors import StateError
from scurry.common.own_directories import check_owner, own_directory, process_directory


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_directory_can_be_entered_by_its_owner_alone(tmp_path: Path) -> None:
    own_directory(tmp_path / "a" / "b", "")
    assert mode(tmp_path / "a" / "b") == 0o700


@pytest.mark.parametrize("bits", [0o777, 0o720, 0o702])
def test_one_that_others_can_write_to_is_refused(tmp_path: Path, bits: int) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(bits)
    with pytest.raises(StateError, match=rf"by others \(mode {bits:o}\).* Choose another"):
        own_directory(shared, "Choose another.")


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(StateError, match="is not a directory"):
        own_directory(tmp_path / "link", "")


def test_somebody_elses_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    with pytest.raises(StateError, match=f"belongs to user {me}, and you are user {me + 1}"):
        check_owner(tmp_path, "")


def test_what_processes_have_left_is_removed_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="s", dir="/tmp") as place:
        monkeypatch.setattr(tempfile, "tempdir", place)
        mine = process_directory("jobs")
        program = (
            "import os; from scurry.common.own_directories import process_directory as p; "
            "print(p('jobs'), flush=True); os.kill(os.getpid(), 9)"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "TMPDIR": place},
        )
        killed = Path(done.stdout.strip())
        assert killed.exists()
        another = mine.with_name("ffffff-" + killed.name.partition("-")[2])
        another.mkdir()
        next_one = process_directory("jobs")
        assert [path.exists() for path in (mine, killed, next_one)] == [True, False, True]
        assert another.exists(), "of a process on another host nobody here can tell"
        assert {mode(path) for path in (mine, next_one, mine.parent)} == {0o700}


def test_no_socket_lies_below_capital_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="S", dir="/tmp") as place:
        monkeypatch.setattr(tempfile, "tempdir", place)
        made = process_directory("sockets")
        assert str(made) == str(made).lower(), "PySpark looks there in small letters only"
        made.rmdir()
