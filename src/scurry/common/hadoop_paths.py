"""Local paths in the spelling of Hadoop's file systems, which Spark uses.

Hadoop takes what follows ``file:`` as it stands: it does not decode ``%20``. With the URI of a path
that has a space in it, Spark would use another directory, and say nothing.
"""

from __future__ import annotations

import re
from pathlib import Path

from scurry.common.errors import ConfigurationError

#: What has a meaning in patterns of paths.
_SPECIAL = re.compile(r"([{}\[\]*?])")


def hadoop_path(path: Path) -> str:
    """What Spark is to be told where it takes one path, such as that of a checkpoint. Raises
    :class:`ConfigurationError` for a backslash, which Spark takes for an escape."""
    if "\\" in str(path):
        raise ConfigurationError(
            f"Spark cannot work with {str(path)!r}: there is a backslash in the path. Choose "
            "another name for the directory."
        )
    return f"file://{path.absolute()}"


def hadoop_pattern(path: Path) -> str:
    """What Spark is to be told where it takes a pattern of paths, as it does to read."""
    return _SPECIAL.sub(r"\\\1", hadoop_path(path))
