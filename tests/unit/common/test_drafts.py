"""Content that goes to the disk before it counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from scurry.common.any_paths import Draft


def test_a_draft_counts_when_it_is_published(tmp_path: Path) -> None:
    path = tmp_path / "epoch"
    draft = Draft(path, b"new")
    assert draft.holds(path, b"new")
    assert not draft.holds(path, b"other")
    assert not draft.holds(tmp_path / "other", b"new")
    assert not path.exists()
    draft.publish()
    assert path.read_bytes() == b"new"
    assert [each.name for each in tmp_path.iterdir()] == ["epoch"]


def test_what_prevents_a_draft_is_said_when_it_is_published(tmp_path: Path) -> None:
    draft = Draft(tmp_path / "missing" / "epoch", b"new")
    with pytest.raises(FileNotFoundError, match="missing"):
        draft.publish()
