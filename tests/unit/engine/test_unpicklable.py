"""A job that cannot be pickled names the operator, the line and the variable."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from scurry.common.errors import ProgramError
from scurry.datastream import MapFunction, StreamExecutionEnvironment
from scurry.testing.local import collect_local

HERE = Path(__file__).name
LOCK = threading.Lock()


class Enrich(MapFunction):
    def __init__(self, connection: Any) -> None:
        self.parts = {"connection": connection}

    def map(self, value: Any) -> Any:
        return value


def refused(function: Any) -> str:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(ProgramError) as caught:
        collect_local(env.from_collection([1]).map(lambda n: n).map(function).name("enrich"))
    assert caught.value.__cause__ is None
    text = str(caught.value)
    assert text.startswith("The operator 'enrich' (uid 'map-")
    assert f"{HERE}:" in text
    assert "Make it in the function's open() method, or inside the function" in text
    return text


def test_a_variable_of_the_surroundings() -> None:
    lock = threading.Lock()

    def bump(value: int) -> int:
        with lock:
            return value + 1

    line = bump.__code__.co_firstlineno
    assert f"bump ({__file__}:{line}) is a _thread.lock, which cannot" in refused(bump)
    assert "the variable 'lock' of " in refused(bump)
    assert "the variable 'lock' of " in refused(lambda value: bump(value))


def test_an_attribute_of_a_function_class() -> None:
    with socket.socket() as connection:
        text = refused(Enrich(connection))
    assert "the item 'connection' of attribute 'parts' of Enrich is a socket.socket" in text


def test_the_full_story_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCURRY_FULL_TRACEBACK", "1")
    env = StreamExecutionEnvironment.get_execution_environment()
    lock = threading.Lock()
    with pytest.raises(ProgramError) as caught:
        collect_local(env.from_collection([1]).map(lambda n: (n, lock)[0]))
    assert "cannot pickle '_thread.lock'" in str(caught.value.__cause__)
