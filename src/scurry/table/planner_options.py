"""The planner's options, from the configuration of a table environment."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from scurry.common.configuration import Configuration
from scurry.common.options import tables
from scurry.functions.expressions import AsyncSettings
from scurry.functions.lookups import LookupSettings
from scurry.planner.options import PlannerOptions

if TYPE_CHECKING:
    from scurry.table.table_environment import TableEnvironment

__all__ = ["options_of"]


def options_of(environment: TableEnvironment) -> PlannerOptions:
    """What the planner has to know, as of now."""
    configuration = environment.get_config().get_configuration()
    idle = tables.SOURCE_IDLE_TIMEOUT.read(configuration)
    return PlannerOptions(
        retention_ms=tables.STATE_TTL.read(configuration),
        mini_batch=tables.MINI_BATCH.read(configuration),
        mini_batch_rows=max(0, tables.MINI_BATCH_SIZE.read(configuration)),
        idle_ms=idle if idle > 0 else None,
        zone=environment.get_config().get_local_timezone(),
        database=environment.get_current_database() or "",
        query_start=None if environment.streaming else int(time.time() * 1000),
        asynchronous=_asynchronous(configuration),
        lookups=_lookups(configuration),
        agg_phase=tables.AGG_PHASE.read(configuration),
        split_distinct=tables.SPLIT_DISTINCT.read(configuration),
        upsert_materialize=tables.UPSERT_MATERIALIZE.read(configuration),
    )


def _asynchronous(configuration: Configuration) -> AsyncSettings:
    again = tables.ASYNC_RETRY.read(configuration) == "FIXED_DELAY"
    return AsyncSettings(
        tables.ASYNC_CALLS.read(configuration),
        tables.ASYNC_TIMEOUT.read(configuration),
        tables.ASYNC_ATTEMPTS.read(configuration) if again else 1,
        tables.ASYNC_DELAY.read(configuration),
    )


def _lookups(configuration: Configuration) -> LookupSettings:
    return LookupSettings(
        ordered=tables.LOOKUP_MODE.read(configuration) == "ORDERED",
        capacity=tables.LOOKUP_CAPACITY.read(configuration),
        timeout_ms=tables.LOOKUP_TIMEOUT.read(configuration),
    )
