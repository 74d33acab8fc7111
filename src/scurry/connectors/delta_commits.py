"""The marks of a sink in the log of a Delta table.

The log holds, for each application, the number of its last transaction. A mark is a batch's number
and the token of its branch, so a sink is two applications in the log, one for each. Each commit
also has the batch's identity in its metadata. So the files of single batches can be found, and
removed by a new version of the table; the older versions stay readable.

A third application has the epoch of the lease of the driver that entered last. A commit is made on
the version of the table in which the epoch was found; if another driver has entered since, Delta
refuses it, because both write to the same application.
"""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pyarrow as pa

from scurry.common.errors import OtherHistoryError, ProgramError
from scurry.functions.history import Mark
from scurry.functions.sink import CommitterContext

_METADATA = "scurry"


def package() -> Any:
    """The package deltalake."""
    try:
        import deltalake
    except ImportError:
        raise ProgramError(
            "Delta Lake needs the package deltalake. Run: python -m pip install 'scurry[delta]'"
        ) from None
    return deltalake


class Note(msgspec.Struct, omit_defaults=True):
    """What a commit of a sink says about itself."""

    sink: str
    batch: int
    branch: str = ""
    #: whether it was the sink's first one in this table
    first: bool = False
    #: the versions of the table whose files it removes, or that it takes for its own
    undoes: list[int] = []
    accepts: list[int] = []


class DeltaCommits:
    """The commits of one sink to one table."""

    def __init__(
        self, path: str, storage_options: dict[str, str] | None, context: CommitterContext
    ) -> None:
        self._path = path
        self._storage = storage_options
        self._app = f"scurry/{context.checkpoint_id}/{context.uid}"
        self._history = context.history
        self._lease = context.lease

    def table(self, version: int | None = None) -> Any:
        """The table, None if there is none."""
        delta = package()
        if not delta.DeltaTable.is_deltatable(self._path, self._storage):
            return None
        return delta.DeltaTable(self._path, version=version, storage_options=self._storage)

    def mark(self, table: Any) -> Mark | None:
        """The mark of the last batch in ``table``."""
        batch = None if table is None else table.transaction_version(self._app)
        if batch is None or batch < 0:
            return None
        token = table.transaction_version(f"{self._app}/branch")
        return Mark(batch, f"{token:015x}" if token else "")

    def enter(self) -> None:
        """From now on drivers with an older lease are kept out, if there is a table."""
        table = self.table()
        if table is not None and self._epoch(table) != self._lease.epoch:
            self._lease.enter(self._epoch(table))
            properties = package().CommitProperties(app_transactions=[self._entry])
            self._commit_to(table, [], properties)

    def create(self, schema: pa.Schema, partition_by: list[str] | None) -> Any:
        """An empty table, if there is still none, that belongs to this driver from the start."""
        delta = package()
        return delta.DeltaTable.create(
            self._path,
            schema=schema,
            mode="error",
            partition_by=partition_by,
            storage_options=self._storage,
            commit_properties=delta.CommitProperties(app_transactions=[self._entry]),
        )

    def admit(self, table: Any) -> None:
        """Raise if another driver has entered ``table``."""
        self._lease.admit(self._epoch(table))

    def check(self) -> None:
        """Raise if another driver has taken the checkpoint over."""
        self._lease.check()

    def _epoch(self, table: Any) -> int:
        return int(table.transaction_version(f"{self._app}/lease") or 0)

    @property
    def _entry(self) -> Any:
        return package().Transaction(app_id=f"{self._app}/lease", version=self._lease.epoch)

    def properties(self, mark: Mark, **more: Any) -> Any:
        """What a commit carries that makes ``mark`` the last batch."""
        delta = package()
        note = Note(self._app, mark.batch, mark.branch, **more)
        token = int(mark.branch, 16) if mark.branch else 0
        return delta.CommitProperties(
            custom_metadata={_METADATA: msgspec.json.encode(note).decode()},
            app_transactions=[
                delta.Transaction(app_id=self._app, version=mark.batch),
                delta.Transaction(app_id=f"{self._app}/branch", version=token),
                self._entry,
            ],
        )

    def accept(self, mark: Mark) -> None:
        """Go on as if ``mark`` were the last batch."""
        accepts = [version for version, of in self._marks().items() if not self._history.holds(of)]
        self._commit([], self.properties(mark, accepts=accepts))

    def truncate(self) -> None:
        """Remove the files of all batches that the history does not hold."""
        from deltalake.transaction import RemoveAction

        history, marks = self._history, self._marks(complete=True)
        strange = [version for version, mark in marks.items() if not history.holds(mark)]
        now = int(time.time() * 1000)
        removals = [
            RemoveAction(path, data_change=True, deletion_timestamp=now, size=size)
            for path, size in self._files_of(strange).items()
        ]
        pending = history.mark(history.planned)
        last = pending if pending in marks.values() else history.mark(history.last)
        self._commit(removals, self.properties(last, undoes=strange))

    def _commit(self, actions: list[Any], properties: Any) -> None:
        table = self.table()
        self._lease.enter(self._epoch(table))
        self._commit_to(table, actions, properties)

    def _commit_to(self, table: Any, actions: list[Any], properties: Any) -> None:
        partitions = table.metadata().partition_columns
        table.create_write_transaction(
            actions, "append", table.schema(), partitions, commit_properties=properties
        )

    def _marks(self, complete: bool = False) -> dict[int, Mark]:
        """The versions of the table that hold batches of this sink, as far as the log tells; with
        ``complete`` it must tell of all batches beyond the history."""
        marks: dict[int, Mark] = {}
        whole = False
        for entry in reversed(self.table().history()):
            note = _note(entry)
            if note is None or note.sink != self._app:
                continue
            mark = Mark(note.batch, note.branch)
            whole = whole or note.first or self._history.holds(mark)
            for version in note.undoes:
                marks.pop(version, None)
            marks.update(dict.fromkeys(note.accepts, mark))
            if not note.undoes and not note.accepts:
                marks[entry["version"]] = mark
        if complete and not whole:
            raise OtherHistoryError(
                f"DeltaSink: the log of {self._path!r} does not reach back to micro-batch "
                f"{self._history.last}, where the checkpoint stands, or an earlier version of "
                "Scurry wrote it, so it is not known what to take back. Restore the table to a "
                "version that fits the checkpoint, and choose 'append'."
            )
        return marks

    def _files_of(self, versions: list[int]) -> dict[str, int]:
        """The files, with their sizes, that ``versions`` added."""
        there = self._files(None)
        found: dict[str, int] = {}
        for version in versions:
            before = self._files(version - 1) if version else {}
            added = {
                path: size for path, size in self._files(version).items() if path not in before
            }
            gone = [path for path in added if path not in there]
            if gone:
                raise OtherHistoryError(
                    f"DeltaSink: {gone[0]!r}, which version {version} added to {self._path!r}, is "
                    "not part of the table any more: the table was optimised, or records were "
                    "deleted. What the file held cannot be taken back. Restore the table to a "
                    "version that fits the checkpoint, and choose 'append'."
                )
            found |= added
        return found

    def _files(self, version: int | None) -> dict[str, int]:
        actions = pa.table(self.table(version).get_add_actions())
        paths, sizes = actions.column("path"), actions.column("size_bytes")
        return dict(zip(paths.to_pylist(), sizes.to_pylist(), strict=True))


def _note(entry: dict[str, Any]) -> Note | None:
    text = entry.get(_METADATA)
    return None if not isinstance(text, str) else msgspec.json.decode(text, type=Note)
