"""The files of a run or index as one object of an object store, where requests are what costs.

An object has the name of its run or index. It holds the names and sizes of the files, and then
their contents, all of that compressed; before it stands how long it is otherwise. Offsets and
sorted keys compress well, and bytes are what takes time on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pyarrow as pa

#: Bytes of the length of the list of names and sizes, and of the length of everything.
_LENGTH, _WHOLE = 4, 8
_CODEC = "zstd"


def owner_of(file: str) -> str:
    """The name of the run or index that a file belongs to."""
    return file.partition(".")[0]


def packed(files: Iterable[Path]) -> bytes:
    """The content of the object for ``files``, which belong to one run or index."""
    paths = sorted(files)
    contents = [path.read_bytes() for path in paths]
    sizes = [(path.name, len(content)) for path, content in zip(paths, contents, strict=True)]
    head = msgspec.msgpack.encode(sizes)
    whole = b"".join((len(head).to_bytes(_LENGTH, "little"), head, *contents))
    squeezed: bytes = pa.compress(whole, codec=_CODEC, asbytes=True)
    return len(whole).to_bytes(_WHOLE, "little") + squeezed


def unpacked(content: bytes) -> Iterator[tuple[str, memoryview]]:
    """The names and contents of the files of an object; raises :class:`OSError` if the object is
    damaged."""
    size = int.from_bytes(content[:_WHOLE], "little")
    try:
        plain = pa.decompress(memoryview(content)[_WHOLE:], decompressed_size=size, codec=_CODEC)
        view = memoryview(plain)
        begin = _LENGTH + int.from_bytes(view[:_LENGTH], "little")
        sizes = msgspec.msgpack.decode(view[_LENGTH:begin], type=list[tuple[str, int]])
    except (msgspec.MsgspecError, ValueError, OSError) as failure:
        raise OSError(f"the object is damaged ({failure})") from failure
    if begin + sum(size for _, size in sizes) != len(view):
        raise OSError("the object is not as long as it should be")
    for name, size in sizes:
        yield name, view[begin : begin + size]
        begin += size
