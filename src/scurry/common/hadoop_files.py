"""Files of HDFS, with the methods of an object store.

HDFS is a file system: a file that is being written can be seen, and is not whole yet. What it does
at once is to rename. So a file is written under another name, which nobody looks for, and renamed:
over the file that is there, or only if there is none, as the NameNode decides.

HDFS is reached by WebHDFS, which is HTTP and needs neither Java nor native libraries. The URL
``webhdfs://host:9870/path`` names the port of that service. ``hdfs://host:8020/path`` names another
port of the same machine, so there the port is the usual 9870, or what the options say.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

#: The port of WebHDFS where nothing is said.
_PORT = 9870
_DRAFTS = ".drafts-of-scurry"


class HadoopFiles:
    """HDFS by the methods of fsspec that :class:`scurry.common.object_store.ObjectStore` uses. Keys
    are those of a URL: the first part is the NameNode."""

    def __init__(self, scheme: str, options: Mapping[str, Any]) -> None:
        self._scheme = scheme
        self._options = dict(options)
        self._connections: dict[str, Any] = {}

    def _located(self, key: str) -> tuple[Any, str]:
        """The file system of fsspec for a key, and the path in it."""
        node, _, path = key.partition("/")
        if node not in self._connections:
            import fsspec

            host, _, port = node.partition(":")
            given = int(port) if port and self._scheme == "webhdfs" else _PORT
            plain = {"host": host, "port": given, "skip_instance_cache": True}
            self._connections[node] = fsspec.filesystem("webhdfs", **{**plain, **self._options})
        return self._connections[node], f"/{path}"

    def cat_file(self, key: str) -> bytes:
        """The content of a file."""
        files, path = self._located(key)
        answer = _whole(files._call("OPEN", path=path, redirect=False))
        if answer.is_redirect:
            answer = _whole(_checked(files.session.get(_place(files, answer))))
        return bytes(answer.content)

    def pipe_file(self, key: str, content: bytes, mode: str = "overwrite") -> None:
        """Make ``content`` the content of a file, all at once; with the mode ``create`` only if
        there is no such file."""
        files, path = self._located(key)
        parent, _, name = path.rpartition("/")
        draft = f"{parent}/{_DRAFTS}/{name}.{uuid.uuid4().hex[:12]}"
        try:
            # fsspec would create an empty file and append to it; one request is enough
            answer = files._call("CREATE", "put", draft, redirect=False, overwrite="true")
            place = _place(files, _whole(answer))
            headers = {"content-type": "application/octet-stream"}
            _checked(files.session.put(place, data=content, headers=headers))
            how = {} if mode == "create" else {"renameoptions": "OVERWRITE"}
            renamed = files._call("RENAME", "put", draft, destination=path, **how)
        except BaseException:
            self._forget(files, draft)
            raise
        # without options the NameNode answers whether it has renamed the file
        if mode == "create" and not renamed.json()["boolean"]:
            self._forget(files, draft)
            raise FileExistsError(path)

    @staticmethod
    def _forget(files: Any, draft: str) -> None:
        with suppress(Exception):
            files.rm(draft)

    def rm_file(self, key: str) -> None:
        """Delete a file, which need not be there."""
        files, path = self._located(key)
        files.rm(path)

    def ls(self, key: str, detail: bool = False) -> list[str]:
        """The keys directly below ``key``."""
        return [found for found, _ in self._listed(key)]

    def _listed(self, key: str) -> Iterator[tuple[str, dict[str, Any]]]:
        files, path = self._located(key)
        for info in files.ls(path, detail=True):
            if info["pathSuffix"] not in ("", _DRAFTS):
                yield f"{key}/{info['pathSuffix']}", info

    def find(self, key: str, detail: bool = True) -> dict[str, dict[str, Any]]:
        """All files below ``key``."""
        found: dict[str, dict[str, Any]] = {}
        try:
            for each, info in list(self._listed(key)):
                if info["type"] == "directory":
                    found.update(self.find(each))
                else:
                    found[each] = info
        except FileNotFoundError:
            return found
        return found


def _place(files: Any, answer: Any) -> str:
    """The DataNode to which the NameNode sends whoever reads or writes a file."""
    place: str = files._apply_proxy(answer.headers["Location"])
    return place


def _whole(answer: Any) -> Any:
    """``answer``, if its headers have come to their end. Of an answer that is cut within them,
    Python's HTTP client makes one without content, or with another place to go to."""
    headers = answer.headers
    if "Content-Length" not in headers and "Transfer-Encoding" not in headers:
        raise ConnectionError("An answer of HDFS ended within its headers.")
    return answer


def _checked(answer: Any) -> Any:
    """An answer of a DataNode; raises if it is not what was asked for."""
    if answer.status_code in (401, 403):
        raise PermissionError(f"HDFS refuses: {answer.text[:500]}")
    answer.raise_for_status()
    return answer
