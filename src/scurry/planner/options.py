"""What a session says about planning."""

from __future__ import annotations

from dataclasses import dataclass, field

from scurry.functions.expressions import AsyncSettings
from scurry.functions.lookups import LookupSettings


@dataclass(frozen=True)
class PlannerOptions:
    """``retention_ms`` is ``table.exec.state.ttl`` (0 for ever), ``mini_batch``
    ``table.exec.mini-batch.enabled``; ``idle_ms`` is ``table.exec.source.idle-timeout``, None if
    sources never count as idle. ``zone`` is ``table.local-time-zone``; ``query_start`` is the time
    of CURRENT_TIMESTAMP in batch mode, in ms since 1970, None for streams; ``asynchronous`` is how
    functions that are awaited are called (``table.exec.async-scalar``), ``lookups`` how rows are
    looked up (``table.exec.async-lookup``)."""

    retention_ms: int = 0
    mini_batch: bool = False
    #: table.exec.mini-batch.size, 0 for whole micro-batches
    mini_batch_rows: int = 0
    idle_ms: int | None = None
    zone: str = "UTC"
    database: str = "default_database"
    query_start: int | None = None
    asynchronous: AsyncSettings = field(default_factory=AsyncSettings)
    lookups: LookupSettings = field(default_factory=LookupSettings)
    #: table.optimizer.agg-phase-strategy, and table.optimizer.distinct-agg.split.enabled
    agg_phase: str = "AUTO"
    split_distinct: bool = False
    #: table.exec.sink.upsert-materialize
    upsert_materialize: str = "AUTO"

    @property
    def batch(self) -> bool:
        """Whether queries read their tables to the end and send final rows only."""
        return self.query_start is not None
