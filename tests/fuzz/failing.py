"""Building the steps of random programs that fail on some records, for a while or for good."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.fuzz import functions_of_time as late
from tests.fuzz.records import declared, key_of
from tests.fuzz.steps import Step

from scurry.common import Time
from scurry.datastream import AsyncDataStream
from scurry.datastream.data_stream import DataStream
from scurry.datastream.functions import AsyncRetryStrategy


def asked_again(step: Step, stream: DataStream) -> DataStream:
    """Calls that are repeated if they fail or have no answer."""
    strategy = AsyncRetryStrategy.fixed_delay(
        2, 1, lambda answer: not answer, lambda error: isinstance(error, ConnectionError)
    )
    wait = getattr(AsyncDataStream, f"{step['how'].removesuffix(' retry')}_wait_with_retry")
    function = late.Retrying(step["add"], step["shape"])
    made: DataStream = wait(
        stream, function, Time.seconds(60), strategy, 3, declared(step["shape"])
    )
    return made


def _later(step: Step, stream: DataStream, out: Any) -> DataStream:
    wait = getattr(AsyncDataStream, f"{step['how']}_wait")
    function = late.PoisonedLater(step["add"], step["shape"])
    made: DataStream = wait(stream, function, Time.seconds(60), 3, out)
    return made


def _poisoned(step: Step) -> Callable[[Any], Any]:
    add, shape = step["add"], step["shape"]
    return lambda record: late.poisoned(record, add, shape)


def _flat_poisoned(step: Step, stream: DataStream, out: Any) -> DataStream:
    poison = _poisoned(step)
    return stream.flat_map(lambda record: [poison(record)], out)


#: Steps that fail on some records, by the kind of function.
POISONED: dict[str, Callable[[Step, DataStream, Any], DataStream]] = {
    "map": lambda step, stream, out: stream.map(_poisoned(step), out),
    "flat_map": _flat_poisoned,
    "process": lambda step, stream, out: stream.process(
        late.Poisoned(step["add"], step["shape"]), out
    ),
    "keyed": lambda step, stream, out: stream.key_by(key_of(step["key"])).process(
        late.PoisonedByKey(step["add"], step["shape"]), out
    ),
    "ordered": _later,
    "unordered": _later,
}
