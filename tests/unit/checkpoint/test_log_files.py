"""Large entries of a log are files; Spark keeps references to them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from scurry.checkpoint.log_files import LogFiles
from scurry.common.errors import StateError


def test_large_entries_are_files_and_small_ones_are_not(tmp_path: Path) -> None:
    files = LogFiles(tmp_path / "log", above=100)
    small, large = bytes(100), bytes(range(200))
    assert files.keep(1, small) == small
    assert not (tmp_path / "log").exists()
    kept = files.keep(2, large)
    assert len(kept) < 100
    assert [files.entry(small), files.entry(kept)] == [small, large]
    assert LogFiles(tmp_path / "log").entry(kept) == large, "whatever the limit is now"


def test_attempts_do_not_touch_each_others_files(tmp_path: Path) -> None:
    first, second = LogFiles(tmp_path), LogFiles(tmp_path)
    kept = first.keep(7, b"first"), second.keep(7, b"second")
    assert [first.entry(each) for each in kept] == [b"first", b"second"]


def test_only_what_is_before_goes(tmp_path: Path) -> None:
    files = LogFiles(tmp_path / "log")
    files.drop_before(5)
    kept = [files.keep(seq, b"%d" % seq) for seq in (3, 4, 5, 1000)]
    files.drop_before(5)
    assert [files.entry(each) for each in kept[2:]] == [b"5", b"1000"]
    assert len(list((tmp_path / "log").iterdir())) == 2
    with pytest.raises(StateError, match="The checkpoint is damaged"):
        files.entry(kept[0])


def test_what_a_file_system_leaves_there_is_let_be(tmp_path: Path) -> None:
    files = LogFiles(tmp_path)
    files.keep(1, b"entry")
    (tmp_path / ".nfs000001").touch()
    files.drop_before(2)
    assert [path.name for path in tmp_path.iterdir()] == [".nfs000001"]


def scribble(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b"?")


@pytest.mark.parametrize("damage", [scribble, lambda path: path.write_bytes(b"1"), Path.unlink])
def test_damage_is_told(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    files = LogFiles(tmp_path)
    kept = files.keep(1, b"entry")
    (path,) = tmp_path.iterdir()
    damage(path)
    with pytest.raises(StateError, match=f"{path.name} cannot be read"):
        files.entry(kept)
