"""The checkpoint of the query that lands a streaming DataFrame: which rows each batch has.

On a file system it lies beside the landing, and Spark writes to it. Spark reaches object stores by
other means than Scurry does, if at all. So where the job's checkpoint is in one, the query works
with a directory of the driver's machine, and each batch lands together with a copy of it: a driver
that goes on elsewhere begins with the copy of the last batch that has landed. Batches that Spark
had planned after that are planned anew, and nobody has seen a row of them.

Queries that keep state keep it in that directory as well, written by executors. It is not on the
machine of the driver then, so such queries are refused.
"""

from __future__ import annotations

import io
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from scurry.common.any_paths import AnyPath, ObjectPath
from scurry.common.errors import JobError
from scurry.connectors.data_frames.landing import Landing
from scurry.connectors.data_frames.stored_landing import StoredLanding

_NAME = "spark"
#: Where Spark keeps the state of a query.
_STATE = "state"


class QueryCheckpoint:
    """The checkpoint of a query whose batches land in ``landing``."""

    def __init__(self, room: AnyPath, landing: Landing) -> None:
        self._room = room
        self._landing = landing
        self._copied: Path | None = None

    def begin(self) -> Path:
        """The directory that Spark works with, with what is known from before."""
        if not isinstance(self._landing, StoredLanding):
            assert not isinstance(self._room, ObjectPath)
            return self._room / _NAME
        self._copied = Path(tempfile.mkdtemp(prefix="scurry-query-"))
        known = self._landing.query()
        if known is not None:
            with tarfile.open(fileobj=io.BytesIO(known)) as archive:
                archive.extractall(self._copied, filter="data")
        return self._copied

    def land(self, batch: int, write: Callable[[AnyPath], Iterable[Any]]) -> None:
        """Let a batch land, unless it has."""
        if isinstance(self._landing, StoredLanding):
            self._landing.land_with(batch, write, self._packed)
        else:
            self._landing.land(batch, write)

    def _packed(self) -> bytes:
        assert self._copied is not None
        if (self._copied / _STATE).exists():
            raise JobError(
                "the DataFrame keeps state in Spark, such as groups or rows to compare with, and "
                "the job's checkpoint is in an object store. Do that part in the job, or give "
                "execution.checkpointing.dir a path that the driver and all executors share."
            )
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w:gz") as archive:
            archive.add(self._copied, "")
        return content.getvalue()

    def close(self) -> None:
        """The query has ended."""
        if self._copied is not None:
            shutil.rmtree(self._copied, ignore_errors=True)
