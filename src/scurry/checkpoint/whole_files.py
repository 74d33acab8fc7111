"""Files that appear whole or not at all, also if the machine stops."""

from __future__ import annotations

import os
from pathlib import Path

from scurry.checkpoint.layout import draft_of


def write_whole(path: Path, content: bytes) -> None:
    """Make ``content`` the content of ``path``, by one rename."""
    draft = draft_of(path)
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
