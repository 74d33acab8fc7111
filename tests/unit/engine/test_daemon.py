"""Workers that Spark has hung up on end without a word; others say what is wrong."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from scurry.engine.spark.daemon import PatientGarbage, _ending_quietly


@pytest.mark.parametrize("failure", [BrokenPipeError, ConnectionResetError])
def test_a_lost_connection_is_no_news(failure: type[Exception]) -> None:
    def serve(*arguments: Any) -> int:
        raise failure

    assert _ending_quietly(serve)(None, True) != 0, "the worker is not used again"


def test_any_other_failure_is_told() -> None:
    def serve(*arguments: Any) -> int:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        _ending_quietly(serve)(None, True)
    assert _ending_quietly(lambda *arguments: 0)(None, True) == 0


def test_garbage_is_looked_for_when_that_takes_little_of_the_time() -> None:
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += 0.5  # so looking takes half a second
        return now

    def leave_garbage() -> weakref.ref[Any]:
        class Ring:
            def __init__(self) -> None:
                self.itself = self

        return weakref.ref(Ring())

    garbage = PatientGarbage(clock)
    first = leave_garbage()
    assert garbage.collect() > 0
    assert first() is None
    second = leave_garbage()
    gc.disable()
    try:
        assert garbage.collect() == 0
        assert second() is not None, "a moment later it does not look"
    finally:
        gc.enable()
    now += 50
    assert garbage.collect() > 0
    assert second() is None
