"""Workers that Spark has hung up on end without a word; others say what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from scurry.compile.spark.daemon import _ending_quietly


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
