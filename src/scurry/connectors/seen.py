"""Which batches a sink has taken that keeps its records in the memory of this process."""

from __future__ import annotations

from scurry.functions.history import History, Mark, NumbersOnly
from scurry.functions.sink import CommitterContext


class SeenBatches:
    """Tells new batches from repeated ones, for as long as the process lives. What was printed or
    collected cannot be taken back, so batches of another history are taken without question."""

    def __init__(self) -> None:
        self._checkpoint_id = ""
        self._history: History = NumbersOnly()
        self._mark: Mark | None = None

    def start(self, context: CommitterContext) -> None:
        """The sink is started, perhaps again, perhaps as part of another job."""
        if context.checkpoint_id != self._checkpoint_id:
            self._mark = None
        elif self._mark is not None and not context.history.holds(self._mark):
            self._mark = context.history.common(self._mark)
        self._checkpoint_id, self._history = context.checkpoint_id, context.history

    def is_new(self, batch: int) -> bool:
        """Whether ``batch`` has not been taken yet; it has from now on."""
        if self._history.repeats(batch, self._mark):
            return False
        self._mark = self._history.mark(batch)
        return True
