"""Settings of a table environment that can change while it lives.

They are read when a query is planned, so a change counts for the statements after it. What is set
here wins over what the environment below, a ``StreamExecutionEnvironment``, is configured with.
"""

from __future__ import annotations

import datetime
import sys
from zoneinfo import ZoneInfo

from scurry.common.configuration import Configuration
from scurry.common.errors import ConfigurationError, NotSupportedError, ProgramError
from scurry.common.options import BY_KEY, python, tables
from scurry.table.sql_dialect import SqlDialect

__all__ = ["TableConfig"]


class TableConfig:
    """The configuration of a table environment; ``table_env.get_config()`` gives it."""

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    @staticmethod
    def get_default() -> TableConfig:
        """A configuration in which nothing is set."""
        return TableConfig()

    def get(self, key: str, default_value: str) -> str:
        """The text set under a key."""
        return self._configuration.to_dict().get(key, default_value)

    def set(self, key: str, value: str) -> TableConfig:
        """Set a key; a value that its option refuses is refused here."""
        if not isinstance(key, str) or value is None:
            raise ProgramError(
                f"TableConfig.set takes a key and a value, two texts, got {key!r} and {value!r}."
            )
        option = BY_KEY.get(key)
        if option is not None:
            option.read(Configuration().set_string(key, value))
        self._configuration.set_string(key, value)
        return self

    def get_local_timezone(self) -> str:
        """The name of the session's time zone; that of the machine if none was set."""
        name = tables.LOCAL_TIME_ZONE.read(self._configuration)
        return _machine_zone() if name == "default" else name

    def set_local_timezone(self, timezone_id: str) -> None:
        """Set the session's time zone: a name such as ``Europe/Berlin``, or ``GMT+02:00``."""
        _check_zone(timezone_id)
        tables.LOCAL_TIME_ZONE.write(self._configuration, timezone_id)

    def get_max_generated_code_length(self) -> int:
        """A limit of Flink's code generator; here nothing is generated, and nothing reads it."""
        return tables.CODE_LENGTH.read(self._configuration)

    def set_max_generated_code_length(self, max_generated_code_length: int) -> None:
        """Taken for the sake of programs that set it; see the getter."""
        tables.CODE_LENGTH.write(self._configuration, max_generated_code_length)

    def set_idle_state_retention(self, duration: datetime.timedelta) -> None:
        """How long the state of a key is kept after its last change; zero is for ever."""
        if not isinstance(duration, datetime.timedelta):
            raise ProgramError(f"set_idle_state_retention takes a timedelta, got {duration!r}.")
        milliseconds = duration // datetime.timedelta(milliseconds=1)
        tables.STATE_TTL.write(self._configuration, milliseconds)

    def get_idle_state_retention(self) -> datetime.timedelta:
        """How long the state of a key is kept after its last change; zero is for ever."""
        return datetime.timedelta(milliseconds=tables.STATE_TTL.read(self._configuration))

    def get_configuration(self) -> Configuration:
        """The keys and values themselves."""
        return self._configuration

    def add_configuration(self, configuration: Configuration) -> None:
        """Take over all settings of another configuration."""
        self._configuration.add_all(configuration)

    def to_map(self) -> dict[str, str]:
        """All settings as texts."""
        return self._configuration.to_dict()

    def get_sql_dialect(self) -> SqlDialect:
        """The dialect that statements are written in."""
        return SqlDialect[tables.SQL_DIALECT.read(self._configuration).upper()]

    def set_sql_dialect(self, sql_dialect: SqlDialect) -> None:
        """Choose the dialect; there is Flink's own only."""
        if sql_dialect is not SqlDialect.DEFAULT:
            raise NotSupportedError(
                f"set_sql_dialect({sql_dialect}): Scurry reads Flink's dialect only, "
                "SqlDialect.DEFAULT. Rewrite the statements in it."
            )
        tables.SQL_DIALECT.write(self._configuration, "default")

    def set_python_executable(self, python_exec: str) -> None:
        """The interpreter that workers run Python functions with."""
        python.PYTHON_EXECUTABLE.write(self._configuration, python_exec)

    def get_python_executable(self) -> str:
        """The interpreter that workers run Python functions with."""
        return python.PYTHON_EXECUTABLE.read(self._configuration) or sys.executable


def _check_zone(timezone_id: str) -> None:
    try:
        time_zone(timezone_id)
    except (ValueError, OSError, TypeError, KeyError, AttributeError):
        raise ConfigurationError(
            f"{tables.LOCAL_TIME_ZONE.key} is {timezone_id!r}, which is no time zone: give a name "
            "such as 'Europe/Berlin', or an offset such as 'GMT+02:00'."
        ) from None


def time_zone(timezone_id: str) -> datetime.tzinfo:
    """The time zone of a name, or of an offset such as ``GMT+02:00`` or ``+02:00``."""
    offset = timezone_id.removeprefix("GMT").removeprefix("UTC")
    if offset[:1] in ("+", "-"):
        sign = -1 if offset[0] == "-" else 1
        hours, _, minutes = offset[1:].partition(":")
        span = datetime.timedelta(hours=int(hours), minutes=int(minutes or 0))
        return datetime.timezone(sign * span)
    return ZoneInfo(timezone_id)


def _machine_zone() -> str:
    zone = datetime.datetime.now().astimezone().tzinfo
    name = getattr(zone, "key", None) or _link_target()
    return str(name or "UTC")


def _link_target() -> str | None:
    """The name of the machine's zone where /etc/localtime says it."""
    from pathlib import Path

    path = str(Path("/etc/localtime").resolve())
    _, _, name = path.partition("/zoneinfo/")
    return name or None
