"""Every public name of PyFlink can be imported from the same place, but for those listed here."""

from __future__ import annotations

import importlib

import pytest
from scripts import pyflink_table as table

#: Modules that are still to come, with what others re-export of them.
TO_COME = (
    "datastream.connectors.cassandra",
    "datastream.connectors.elasticsearch",
    "datastream.connectors.kinesis",
    "datastream.connectors.pulsar",
)
INNER = "an inner part of PyFlink; no program names it"
#: What only makes or reads objects of the JVM.
OF_THE_JVM = {
    "common.typeinfo.ExternalTypeInfo",
    "datastream.utils.convert_to_python_obj",
    "datastream.utils.create_hadoop_configuration",
    "datastream.utils.create_java_properties",
    "datastream.utils.pickled_bytes_to_python_obj",
}


def _of_tables(module: str) -> bool:
    """Whether a module is of the Table API, of which the reference lists what is missing."""
    return module.split(".")[0] == "table"


def importable() -> list[tuple[str, str]]:
    """Modules and names, as a program would import them."""
    return [
        (module.name, entry.name)
        for module in table.load()
        for entry in module.entries
        if "." not in entry.name
        and not f"{entry.of or module.name}.".startswith(tuple(f"{name}." for name in TO_COME))
        and entry.reason != INNER
        and not (_of_tables(module.name) and entry.status in (table.NOTIMPL, table.NEVER))
        and f"{module.name}.{entry.name}" not in OF_THE_JVM
    ]


@pytest.mark.parametrize("module", sorted({module for module, _ in importable()}))
def test_every_name_can_be_imported(module: str) -> None:
    found = importlib.import_module(f"scurry.{module}")
    wanted = [name for home, name in importable() if home == module]
    assert not [name for name in wanted if not hasattr(found, name)]


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("AsyncFunction", (int, str)),
        ("AsyncRetryPredicate", (str,)),
        ("AsyncRetryStrategy", (str,)),
        ("BroadcastProcessFunction", (int, str, int)),
        ("KeyedBroadcastProcessFunction", (str, int, str, int)),
        ("ProcessWindowFunction", (int, str, str, int)),
    ],
)
def test_programs_may_say_what_a_function_takes(name: str, types: tuple[type, ...]) -> None:
    """``class Ask(AsyncFunction[int, str])`` is how PyFlink's own examples begin."""
    function = getattr(importlib.import_module("scurry.datastream"), name)
    assert issubclass(type("Mine", (function[types].__origin__,), {}), function)


def test_what_is_left_out_is_little() -> None:
    everything = sum("." not in entry.name for each in table.load() for entry in each.entries)
    assert len(importable()) > 0.8 * everything


def test_nothing_that_carries_settings_is_never() -> None:
    homes = (
        "common.execution_config",
        "datastream.checkpoint_storage",
        "datastream.slot_sharing_group",
        "datastream.state_backend",
        "datastream.stream_execution_environment",
    )
    reasons = {
        entry.reason
        for module in table.load()
        if module.name in homes
        for entry in module.entries
        if entry.status == table.NEVER
    }
    assert reasons <= {table.JVM_ARGUMENT, table.JVM_OBJECT}
