"""What a cached stream refuses; what it does needs Spark."""

from __future__ import annotations

import pytest

from scurry.common.errors import NotSupportedError
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream.data_stream import CachedDataStream


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("name", ["n"]),
        ("uid", ["u"]),
        ("set_parallelism", [1]),
        ("set_max_parallelism", [8]),
        ("set_description", ["d"]),
        ("force_non_parallel", []),
        ("start_new_chain", []),
        ("disable_chaining", []),
    ],
)
def test_what_a_cached_stream_is_was_settled_before(method: str, arguments: list[object]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    cached = env.from_collection([1]).cache()
    assert isinstance(cached, CachedDataStream)
    assert cached.cache() is cached
    with pytest.raises(NotSupportedError, match=rf"{method}\(\) of a cached stream .*before"):
        getattr(cached, method)(*arguments)


def test_explaining_writes_nothing_down() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).cache().print()
    assert "Cache" not in env.explain()
