"""When a part file is finished, and what it is called."""

from __future__ import annotations

from dataclasses import dataclass

from scurry.common.errors import ProgramError

_DEFAULT_PART_SIZE = 128 << 20
_DEFAULT_INTERVAL = 60_000


@dataclass(frozen=True)
class RollingPolicy:
    """A part file is finished when it has reached ``part_size`` bytes, is ``rollover_interval``
    milliseconds old, or has got nothing for ``inactivity_interval`` milliseconds."""

    part_size: int
    rollover_interval: int
    inactivity_interval: int

    @staticmethod
    def default_rolling_policy(
        part_size: int = _DEFAULT_PART_SIZE,
        rollover_interval: int = _DEFAULT_INTERVAL,
        inactivity_interval: int = _DEFAULT_INTERVAL,
    ) -> DefaultRollingPolicy:
        """Finish part files by size and time; they may hold the records of many micro-batches."""
        for name, value in (
            ("part_size", part_size),
            ("rollover_interval", rollover_interval),
            ("inactivity_interval", inactivity_interval),
        ):
            if not isinstance(value, int) or value <= 0:
                raise ProgramError(f"default_rolling_policy: {name} must be positive, got {value}.")
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """Finish all part files with every micro-batch."""
        return OnCheckpointRollingPolicy(0, 0, 0)

    def is_due(self, size: int, created: int, changed: int, now: int, batches: int = 1) -> bool:
        """Whether a part of that size and age, with records of so many micro-batches, is
        finished."""
        return (
            size >= self.part_size
            or now - created >= self.rollover_interval
            or now - changed >= self.inactivity_interval
        )


class DefaultRollingPolicy(RollingPolicy):
    """By size and time."""


class OnCheckpointRollingPolicy(RollingPolicy):
    """With every micro-batch."""


@dataclass(frozen=True)
class OutputFileConfig:
    """What part files are called: prefix, something unique, a number, suffix."""

    part_prefix: str = "part"
    part_suffix: str = ""

    def __post_init__(self) -> None:
        if not self.part_prefix or self.part_prefix[0] in "._" or "/" in self.part_prefix:
            raise ProgramError(
                f"OutputFileConfig: the prefix {self.part_prefix!r} would make hidden files or "
                "directories. Use one that begins with a letter and has no '/'."
            )
        if "/" in self.part_suffix:
            raise ProgramError(f"OutputFileConfig: the suffix {self.part_suffix!r} has a '/'.")

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """Begin with ``part`` and no suffix."""
        return OutputFileConfig.OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        """How names begin."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """How names end."""
        return self.part_suffix

    class OutputFileConfigBuilder:
        """Gathers prefix and suffix."""

        def __init__(self) -> None:
            self._prefix = "part"
            self._suffix = ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Let names begin with ``prefix``."""
            self._prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Let names end with ``suffix``."""
            self._suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            """The finished configuration."""
            return OutputFileConfig(self._prefix, self._suffix)
