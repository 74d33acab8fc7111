"""Finding files, and remembering many of them in little space.

A directory is searched to any depth. Names that begin with ``.`` or ``_`` are passed over: by that
convention writers, ours among them, hide what is not finished.
"""

from __future__ import annotations

import base64
import json
import os
import re
import zlib
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote, urlparse

from scurry.common.errors import NotSupportedError, ProgramError

#: Size in bytes and time of the last change.
Seen = tuple[int, int]


def local_path(path: object) -> str:
    """``path`` as a path of the file system; ``file:`` URIs are understood."""
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str) or not text:
        raise ProgramError(f"a path is a text such as '/data/in', got {path!r}.")
    if "://" not in text and not text.startswith("file:"):
        return os.path.abspath(text)
    parsed = urlparse(text)
    if parsed.scheme != "file":
        raise NotSupportedError(
            f"{text!r}: files are read and written through the file system of driver and workers, "
            f"{parsed.scheme!r} is not one. Mount the storage there and give its path."
        )
    return os.path.abspath(unquote(parsed.path))


def find_files(roots: Iterable[str], wanted: re.Pattern[str] | None = None) -> dict[str, Seen]:
    """All files below ``roots``, or those whose whole paths the pattern ``wanted`` matches; a root
    that does not exist is an error."""
    found: dict[str, Seen] = {}
    for root in roots:
        if os.path.isdir(root):
            _search(root, found)
        else:
            try:
                state = os.stat(root)
            except FileNotFoundError:
                raise ProgramError(
                    f"There is no file or directory {root!r}. Check the path; it must exist on the "
                    "driver and on every worker."
                ) from None
            found[root] = (state.st_size, state.st_mtime_ns)
    if wanted is None:
        return found
    return {path: seen for path, seen in found.items() if wanted.fullmatch(path)}


def _search(directory: str, found: dict[str, Seen]) -> None:
    try:
        entries = list(os.scandir(directory))
    except PermissionError:
        raise ProgramError(
            f"The directory {directory!r} may not be read by this user. Grant read access to it."
        ) from None
    for entry in entries:
        if entry.name[0] in "._":
            continue
        try:
            if entry.is_dir():
                _search(entry.path, found)
            else:
                state = entry.stat()
                found[entry.path] = (state.st_size, state.st_mtime_ns)
        except FileNotFoundError:
            # deleted between the listing and now
            continue


def pack(value: Any) -> str:
    """JSON in few characters: names of many files repeat each other."""
    raw = json.dumps(value, separators=(",", ":")).encode()
    return base64.b85encode(zlib.compress(raw, 6)).decode()


def unpack(text: str) -> Any:
    """The value behind :func:`pack`."""
    return json.loads(zlib.decompress(base64.b85decode(text)))
