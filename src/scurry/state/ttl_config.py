"""How long state lives: the configuration of a time to live, under PyFlink's names.

>>> config = StateTtlConfig.new_builder(Time.hours(1)).update_ttl_on_read_and_write().build()
>>> descriptor.enable_time_to_live(config)

Beyond PyFlink, `TtlTimeCharacteristic.EventTime` (or `use_event_time`) measures by the watermark:
an entry written by an element of time *t* expires once the watermark reaches *t* + ttl.
"""

from __future__ import annotations

from enum import Enum

from scurry.common.errors import ConfigurationError
from scurry.common.time import Duration, Time, TimeSpan, milliseconds_of

_DEFAULT_CLEANUP_SIZE = 5
_DEFAULT_QUERY_AFTER = 1000


class StateTtlConfig:
    """When entries of a state expire, who may still see them, and how they are cleaned up."""

    class UpdateType(Enum):
        """What puts off the expiry of an entry."""

        Disabled = 0
        OnCreateAndWrite = 1
        OnReadAndWrite = 2

    class StateVisibility(Enum):
        """Whether an expired entry that is still there is returned."""

        ReturnExpiredIfNotCleanedUp = 0
        NeverReturnExpired = 1

    class TtlTimeCharacteristic(Enum):
        """The clock that counts."""

        ProcessingTime = 0
        EventTime = 1

    def __init__(
        self,
        update_type: StateTtlConfig.UpdateType,
        state_visibility: StateTtlConfig.StateVisibility,
        ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic,
        ttl: TimeSpan,
        cleanup_strategies: StateTtlConfig.CleanupStrategies,
    ) -> None:
        self._update_type = update_type
        self._state_visibility = state_visibility
        self._ttl_time_characteristic = ttl_time_characteristic
        self._ttl = _checked(ttl)
        self._cleanup_strategies = cleanup_strategies

    @staticmethod
    def new_builder(ttl: TimeSpan) -> StateTtlConfig.Builder:
        """Start a configuration: entries live that long."""
        return StateTtlConfig.Builder(ttl)

    def get_update_type(self) -> StateTtlConfig.UpdateType:
        """What puts off expiry."""
        return self._update_type

    def get_state_visibility(self) -> StateTtlConfig.StateVisibility:
        """Whether expired entries are returned."""
        return self._state_visibility

    def get_ttl(self) -> Time:
        """How long entries live."""
        return self._ttl

    def get_ttl_time_characteristic(self) -> StateTtlConfig.TtlTimeCharacteristic:
        """The clock that counts."""
        return self._ttl_time_characteristic

    @property
    def by_event_time(self) -> bool:
        """Whether the watermark counts."""
        return self._ttl_time_characteristic is StateTtlConfig.TtlTimeCharacteristic.EventTime

    def is_enabled(self) -> bool:
        """Whether entries expire at all."""
        return self._update_type is not StateTtlConfig.UpdateType.Disabled

    def get_cleanup_strategies(self) -> StateTtlConfig.CleanupStrategies:
        """How expired entries are cleaned up."""
        return self._cleanup_strategies

    def __str__(self) -> str:
        return (
            f"StateTtlConfig<update_type={self._update_type}, "
            f"state_visibility={self._state_visibility},"
            f"ttl_time_characteristic ={self._ttl_time_characteristic},ttl={self._ttl}>"
        )

    def __repr__(self) -> str:
        return (
            f"StateTtlConfig({self._ttl!r}, {self._update_type.name}, "
            f"{self._state_visibility.name}, {self._ttl_time_characteristic.name})"
        )

    class Builder:
        """Collects the settings of a configuration; every setter returns the builder."""

        def __init__(self, ttl: TimeSpan) -> None:
            self._ttl: TimeSpan = ttl
            self._update_type = StateTtlConfig.UpdateType.OnCreateAndWrite
            self._visibility = StateTtlConfig.StateVisibility.NeverReturnExpired
            self._time = StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
            self._in_background = True
            self._strategies: dict[
                StateTtlConfig.CleanupStrategies.Strategies,
                StateTtlConfig.CleanupStrategies.CleanupStrategy,
            ] = {}

        def set_update_type(self, update_type: StateTtlConfig.UpdateType) -> StateTtlConfig.Builder:
            """Say what puts off expiry."""
            self._update_type = update_type
            return self

        def update_ttl_on_create_and_write(self) -> StateTtlConfig.Builder:
            """Writing puts off expiry."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)

        def update_ttl_on_read_and_write(self) -> StateTtlConfig.Builder:
            """Reading puts off expiry too."""
            return self.set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)

        def set_state_visibility(
            self, state_visibility: StateTtlConfig.StateVisibility
        ) -> StateTtlConfig.Builder:
            """Say whether expired entries are returned."""
            self._visibility = state_visibility
            return self

        def return_expired_if_not_cleaned_up(self) -> StateTtlConfig.Builder:
            """An expired entry is returned once more if it is still there."""
            visibility = StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
            return self.set_state_visibility(visibility)

        def never_return_expired(self) -> StateTtlConfig.Builder:
            """An expired entry is as good as gone."""
            return self.set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)

        def set_ttl_time_characteristic(
            self, ttl_time_characteristic: StateTtlConfig.TtlTimeCharacteristic
        ) -> StateTtlConfig.Builder:
            """Say which clock counts."""
            self._time = ttl_time_characteristic
            return self

        def use_processing_time(self) -> StateTtlConfig.Builder:
            """The clock on the wall counts, as it stood when the micro-batch was planned."""
            kind = StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
            return self.set_ttl_time_characteristic(kind)

        def use_event_time(self) -> StateTtlConfig.Builder:
            """The watermark counts."""
            return self.set_ttl_time_characteristic(StateTtlConfig.TtlTimeCharacteristic.EventTime)

        def cleanup_full_snapshot(self) -> StateTtlConfig.Builder:
            """Leave expired entries out when the log is compacted."""
            kinds = StateTtlConfig.CleanupStrategies
            self._strategies[kinds.Strategies.FULL_STATE_SCAN_SNAPSHOT] = kinds.EMPTY_STRATEGY
            return self

        def cleanup_incrementally(
            self, cleanup_size: int, run_cleanup_for_every_record: bool = False
        ) -> StateTtlConfig.Builder:
            """Look at ``cleanup_size`` entries for each entry that a micro-batch writes."""
            kinds = StateTtlConfig.CleanupStrategies
            self._strategies[kinds.Strategies.INCREMENTAL_CLEANUP] = (
                kinds.IncrementalCleanupStrategy(cleanup_size, run_cleanup_for_every_record)
            )
            return self

        def cleanup_in_rocksdb_compact_filter(
            self,
            query_time_after_num_entries: int = _DEFAULT_QUERY_AFTER,
            periodic_compaction_time: Duration | None = None,
        ) -> StateTtlConfig.Builder:
            """Leave expired entries out when the log is compacted; the numbers, which tune
            RocksDB, have no effect."""
            kinds = StateTtlConfig.CleanupStrategies
            self._strategies[kinds.Strategies.ROCKSDB_COMPACTION_FILTER] = (
                kinds.RocksdbCompactFilterCleanupStrategy(
                    query_time_after_num_entries, periodic_compaction_time
                )
            )
            return self

        def disable_cleanup_in_background(self) -> StateTtlConfig.Builder:
            """Do not clean up in any way that was not asked for."""
            self._in_background = False
            return self

        def set_ttl(self, ttl: TimeSpan) -> StateTtlConfig.Builder:
            """Entries live that long."""
            self._ttl = ttl
            return self

        def build(self) -> StateTtlConfig:
            """The configuration."""
            return StateTtlConfig(
                self._update_type,
                self._visibility,
                self._time,
                self._ttl,
                StateTtlConfig.CleanupStrategies(dict(self._strategies), self._in_background),
            )

    class CleanupStrategies:
        """How expired entries are cleaned up that nobody comes back to."""

        class Strategies(Enum):
            """The ways there are."""

            FULL_STATE_SCAN_SNAPSHOT = 0
            INCREMENTAL_CLEANUP = 1
            ROCKSDB_COMPACTION_FILTER = 2

        class CleanupStrategy:
            """The settings of one way."""

        class EmptyCleanupStrategy(CleanupStrategy):
            """A way without settings."""

        class IncrementalCleanupStrategy(CleanupStrategy):
            """Settings of the clean-up bit by bit."""

            def __init__(self, cleanup_size: int, run_cleanup_for_every_record: bool) -> None:
                if cleanup_size <= 0:
                    raise ConfigurationError(
                        f"the number of entries to look at must be positive, got {cleanup_size!r}"
                    )
                self._cleanup_size = cleanup_size
                self._for_every_record = run_cleanup_for_every_record

            def get_cleanup_size(self) -> int:
                """Entries looked at for each entry written."""
                return self._cleanup_size

            def run_cleanup_for_every_record(self) -> bool:
                """As it was set; a micro-batch cleans up once, for all of its records."""
                return self._for_every_record

        class RocksdbCompactFilterCleanupStrategy(CleanupStrategy):
            """Settings of the clean-up during compaction."""

            def __init__(
                self,
                query_time_after_num_entries: int,
                periodic_compaction_time: Duration | None = None,
            ) -> None:
                self._query_after = query_time_after_num_entries
                self._periodic = periodic_compaction_time or Duration.of_days(30)

            def get_query_time_after_num_entries(self) -> int:
                """As it was set."""
                return self._query_after

            def get_periodic_compaction_time(self) -> Duration:
                """As it was set, 30 days if it was not."""
                return self._periodic

        EMPTY_STRATEGY = EmptyCleanupStrategy()

        def __init__(
            self,
            strategies: dict[
                StateTtlConfig.CleanupStrategies.Strategies,
                StateTtlConfig.CleanupStrategies.CleanupStrategy,
            ],
            is_cleanup_in_background: bool,
        ) -> None:
            self._strategies = strategies
            self._in_background = is_cleanup_in_background

        def is_cleanup_in_background(self) -> bool:
            """Whether clean-up happens without being asked for."""
            return self._in_background

        def in_full_snapshot(self) -> bool:
            """Whether clean-up with full snapshots was asked for."""
            return self.Strategies.FULL_STATE_SCAN_SNAPSHOT in self._strategies

        def get_incremental_cleanup_strategy(
            self,
        ) -> StateTtlConfig.CleanupStrategies.IncrementalCleanupStrategy | None:
            """The settings of the clean-up bit by bit, None if there is none."""
            found = self._strategies.get(self.Strategies.INCREMENTAL_CLEANUP)
            if isinstance(found, self.IncrementalCleanupStrategy):
                return found
            if self._in_background:
                return self.IncrementalCleanupStrategy(_DEFAULT_CLEANUP_SIZE, False)
            return None

        def get_rocksdb_compact_filter_cleanup_strategy(
            self,
        ) -> StateTtlConfig.CleanupStrategies.RocksdbCompactFilterCleanupStrategy | None:
            """The settings of the clean-up during compaction, None if there is none."""
            found = self._strategies.get(self.Strategies.ROCKSDB_COMPACTION_FILTER)
            if isinstance(found, self.RocksdbCompactFilterCleanupStrategy):
                return found
            if self._in_background:
                return self.RocksdbCompactFilterCleanupStrategy(_DEFAULT_QUERY_AFTER)
            return None


def _checked(ttl: TimeSpan) -> Time:
    milliseconds = milliseconds_of(ttl)
    if milliseconds <= 0:
        raise ConfigurationError(f"a time to live must be longer than zero, got {ttl!r}")
    return Time.milliseconds(milliseconds)
