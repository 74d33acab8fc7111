"""A slot's journal, in the state that Spark keeps for the stage's operator."""

from __future__ import annotations

from typing import Any

from scurry.checkpoint.log_files import LogFiles
from scurry.common.advice import WAYS_OUT
from scurry.common.any_paths import AnyPath
from scurry.common.errors import StateError
from scurry.state.journal import Head, Journal, decode_head, encode_head


class SparkJournal(Journal):
    """A slot's journal in Spark's state store, with large entries and runs in the job's directory.

    ``head`` and ``log`` are the variables that Spark keeps for the stage.
    """

    def __init__(self, head: Any, log: Any, files: LogFiles, runs: AnyPath) -> None:
        self._head = head
        self._log = log
        self._files = files
        self._runs = runs

    @property
    def runs(self) -> AnyPath:
        return self._runs

    def head(self) -> Head | None:
        found = self._head.get()
        return None if found is None else decode_head(bytes(found[0]))

    def put_head(self, head: Head) -> None:
        self._head.update((encode_head(head),))

    def append(self, seq: int, blob: bytes) -> None:
        self._log.updateValue((seq,), (self._files.keep(seq, blob),))

    def read(self, seq: int) -> bytes:
        found = self._log.getValue((seq,))
        if found is None:
            raise StateError(
                f"Entry {seq} of the log of state is missing from Spark's state store: the "
                f"checkpoint is damaged. {WAYS_OUT}"
            )
        return self._files.entry(bytes(found[0]))

    def remove(self, seq: int) -> None:
        self._log.removeKey((seq,))

    def drop_before(self, seq: int) -> None:
        self._files.drop_before(seq)
