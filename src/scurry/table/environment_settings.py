"""How a table environment begins: streaming or batch, and what its first catalog is called."""

from __future__ import annotations

from scurry.common.configuration import Configuration
from scurry.common.errors import ProgramError
from scurry.common.options import execution, tables

__all__ = ["EnvironmentSettings"]


class EnvironmentSettings:
    """Settings that hold for the life of a :class:`~scurry.table.TableEnvironment`."""

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    @staticmethod
    def new_instance() -> EnvironmentSettings.Builder:
        """A builder; streaming mode unless it is told otherwise."""
        return EnvironmentSettings.Builder()

    @staticmethod
    def in_streaming_mode() -> EnvironmentSettings:
        """Settings for tables that change as their input comes."""
        return EnvironmentSettings.new_instance().in_streaming_mode().build()

    @staticmethod
    def in_batch_mode() -> EnvironmentSettings:
        """Settings for bounded input and final results."""
        return EnvironmentSettings.new_instance().in_batch_mode().build()

    def get_built_in_catalog_name(self) -> str:
        """The name of the catalog that the environment begins with."""
        return tables.BUILTIN_CATALOG.read(self._configuration)

    def get_built_in_database_name(self) -> str:
        """The name of the database that the first catalog begins with."""
        return tables.BUILTIN_DATABASE.read(self._configuration)

    def is_streaming_mode(self) -> bool:
        """Whether results change as their input comes."""
        return execution.RUNTIME_MODE.read(self._configuration) != "BATCH"

    def get_configuration(self) -> Configuration:
        """The settings as keys and values."""
        return self._configuration

    class Builder:
        """Makes :class:`EnvironmentSettings`."""

        def __init__(self) -> None:
            self._configuration = Configuration()

        def with_configuration(self, config: Configuration) -> EnvironmentSettings.Builder:
            """Take over settings, such as those of tables and of the job."""
            if not isinstance(config, Configuration):
                raise ProgramError(f"with_configuration takes a Configuration, got {config!r}.")
            self._configuration.add_all(config)
            return self

        def in_batch_mode(self) -> EnvironmentSettings.Builder:
            """Compute final results of bounded input."""
            execution.RUNTIME_MODE.write(self._configuration, "BATCH")
            return self

        def in_streaming_mode(self) -> EnvironmentSettings.Builder:
            """Compute results that change as their input comes."""
            execution.RUNTIME_MODE.write(self._configuration, "STREAMING")
            return self

        def with_built_in_catalog_name(
            self, built_in_catalog_name: str
        ) -> EnvironmentSettings.Builder:
            """What the first catalog is called, ``default_catalog`` without this."""
            tables.BUILTIN_CATALOG.write(self._configuration, built_in_catalog_name)
            return self

        def with_built_in_database_name(
            self, built_in_database_name: str
        ) -> EnvironmentSettings.Builder:
            """What the first database is called, ``default_database`` without this."""
            tables.BUILTIN_DATABASE.write(self._configuration, built_in_database_name)
            return self

        def build(self) -> EnvironmentSettings:
            """The settings."""
            return EnvironmentSettings(Configuration(self._configuration))
