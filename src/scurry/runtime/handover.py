"""How values are handed over: from user code to the engine, and to several consumers.

What a function emits is a value (:mod:`scurry.common.copies`): it stays as it was when it was
emitted. Operators therefore take the results of user code with the :class:`Handover` of their task,
which copies results that can change. With object reuse it hands on the very objects; functions must
then neither change nor keep what they were given or have emitted.

Where one output has several consumers, each must find the records as they were emitted, whatever
another consumer does to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from sys import getrefcount
from typing import Any, NamedTuple

from scurry.common.copies import ALONE, FIXED, own, own_all, take
from scurry.common.types import Row
from scurry.runtime.batch import Batch
from scurry.runtime.failures import NO_ELEMENT, ElementFailed, apply_all, function_error

#: Takes a batch of records.
Consumer = Callable[[Batch], None]


class Handover(NamedTuple):
    """What is done with a value that changes hands."""

    #: the value as it is now
    own: Callable[[Any], Any]
    #: the same of many values
    own_all: Callable[[list[Any]], list[Any]]
    #: appends to a list what user code yields, each result as it is when it comes
    take: Callable[[list[Any], Iterable[Any]], None]
    #: calls a function with each of many rows; raises :class:`ElementFailed`
    apply: Callable[[Callable[[Any], Any], list[Any]], list[Any]]
    #: whether nothing is copied
    reuse: bool


def _same(value: Any) -> Any:
    return value


def apply_each(function: Callable[[Any], Any], rows: list[Any]) -> list[Any]:
    """``[function(row) for row in rows]``, each result as it is when the function returns it."""
    results: list[Any] = []
    append, fixed = results.append, FIXED
    row = None
    try:
        for row in rows:
            value = function(row)
            if type(value) is tuple:
                for part in value:
                    if type(part) not in fixed:
                        value = own(value)
                        break
            elif type(value) is Row and getrefcount(value) <= ALONE:
                for part in value._values:
                    if type(part) not in fixed:
                        value = own(value)
                        break
            elif type(value) not in fixed:
                value = own(value)
            append(value)
    except Exception as failure:
        raise ElementFailed(row) from failure
    return results


COPYING = Handover(own, own_all, take, apply_each, reuse=False)
REUSING = Handover(_same, _same, list.extend, apply_all, reuse=True)


class FanOut:
    """Hands a batch to several consumers.

    Routers only read records, but later than anybody else: when they have gathered enough. Chained
    operators may change records, so while a router or another operator needs them as they are an
    operator gets copies; the last operator gets the records themselves if no router has them.
    """

    def __init__(self, consumers: Sequence[tuple[Consumer, bool]], name: str, uid: str) -> None:
        """``consumers`` with whether each of them only reads."""
        shared = any(reads for _, reads in consumers)
        last = len(consumers) - 1
        self._consumers = [
            (consumer, not reads and (shared or at < last))
            for at, (consumer, reads) in enumerate(consumers)
        ]
        self._name = name
        self._uid = uid

    def __call__(self, batch: Batch) -> None:
        for consumer, apart in self._consumers:
            consumer(self._apart(batch) if apart else batch)

    def _apart(self, batch: Batch) -> Batch:
        try:
            return batch.apart()
        except Exception as failure:
            raise function_error(self._name, self._uid, "", NO_ELEMENT, failure) from failure
