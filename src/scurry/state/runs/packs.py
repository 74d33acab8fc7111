"""The files of a run or index as one object of an object store, where requests are what costs.

An object has the name of its run or index. It begins with the names and sizes of the files, and
their contents follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

#: Bytes of the length of the list of names and sizes.
_LENGTH = 4


def owner_of(file: str) -> str:
    """The name of the run or index that a file belongs to."""
    return file.partition(".")[0]


def packed(files: Iterable[Path]) -> bytes:
    """The content of the object for ``files``, which belong to one run or index."""
    paths = sorted(files)
    contents = [path.read_bytes() for path in paths]
    sizes = [(path.name, len(content)) for path, content in zip(paths, contents, strict=True)]
    head = msgspec.msgpack.encode(sizes)
    return b"".join((len(head).to_bytes(_LENGTH, "little"), head, *contents))


def unpacked(content: bytes) -> Iterator[tuple[str, memoryview]]:
    """The names and contents of the files of an object; raises :class:`OSError` if the object is
    damaged."""
    view = memoryview(content)
    begin = _LENGTH + int.from_bytes(view[:_LENGTH], "little")
    try:
        sizes = msgspec.msgpack.decode(view[_LENGTH:begin], type=list[tuple[str, int]])
    except msgspec.MsgspecError as failure:
        raise OSError(f"the object is damaged ({failure})") from failure
    if begin + sum(size for _, size in sizes) != len(view):
        raise OSError("the object is not as long as it should be")
    for name, size in sizes:
        yield name, view[begin : begin + size]
        begin += size
