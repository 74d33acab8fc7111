"""Copies of values: what is emitted stays as it was when it was emitted.

A function that yields an object gives it away as it is at that moment, and may change its own in
the next line. Flink holds that by serialising, or copying, whatever leaves a function. Here a whole
batch of records is handled before anybody looks at the results, so copies have to hold it, and a
copy has to be made when a value comes out of user code: later is too late.

A copy is made only of what can change. :data:`FIXED` are the types whose instances cannot, such as
numbers, strings and dates. A tuple, a named tuple or a frozen dataclass cannot change either if its
parts cannot. :func:`own` returns such a value itself, and a copy of any other.

How a value is copied is decided once for its type (:mod:`~scurry.common.copiers`). A list, dict,
Row or dataclass whose parts cannot change is copied part by part, which takes a tenth of the time
of ``copy.deepcopy``. If there are parts that can, they are copied one by one as long as that gives
the same as a copy of the whole: two parts must have nothing in common that can change. Any other
value goes through ``pickle``, or through ``copy.deepcopy`` if it cannot be pickled.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterable
from sys import getrefcount
from typing import Any

from scurry.common.copiers import COPIERS, FIXED, NESTED, all_fixed, copier_of
from scurry.common.errors import TypeMismatchError, shorten
from scurry.common.types import Row

__all__ = ["ALONE", "FIXED", "all_fixed", "own", "own_all", "take"]

#: How deep copiers look before a value is copied as a whole; values may contain themselves.
_DEPTH = 3


def _references() -> int:
    """How many references to a row are counted in a loop that nobody shares it with."""
    count = 0
    for row in (Row(each) for each in range(1)):
        count = getrefcount(row)
    return count


#: A Row that has been yielded or returned, and of which a loop counts so many references, is in
#: nobody else's hands: what function made it does not hold it any more. It need not be copied if
#: its values cannot change.
ALONE = _references()
#: Classes whose instances pickle has failed on, so that it is not asked again.
_unpicklable: set[type] = set()


def own(value: Any) -> Any:
    """``value`` as it is now: itself if it cannot change, a copy if it can."""
    kind = type(value)
    if kind in FIXED:
        return value
    found = (COPIERS.get(kind) or copier_of(kind, value))(value, _DEPTH)
    return _whole(value) if found is NESTED else found


def own_all(values: list[Any]) -> list[Any]:
    """:func:`own` of each of many values; the list itself if it is plain that none can change."""
    return values if all_fixed(values) else list(map(own, values))


def take(values: list[Any], results: Iterable[Any]) -> None:
    """``values.extend(results)``, with each result as it is when it comes: a generator may change
    what it has yielded as soon as it goes on."""
    append, fixed = values.append, FIXED
    for value in results:
        if type(value) is tuple:
            # most of what is emitted: worth a look before a call
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


def _whole(value: Any) -> Any:
    """A copy of a value of any shape."""
    kind = type(value)
    if kind not in _unpicklable and not hasattr(kind, "__deepcopy__"):
        try:
            return pickle.loads(pickle.dumps(value, protocol=5))
        except Exception:
            # a class that no module offers; or there is no copy at all, which deepcopy will say
            if kind.__module__ != "builtins":
                _unpicklable.add(kind)
    try:
        return copy.deepcopy(value)
    except Exception as failure:
        raise TypeMismatchError(
            f"{shorten(value)} of type {type(value).__name__} cannot be copied: {failure}. What a "
            "function emits is a value, which stays as it is when the function changes its own "
            "objects later. Emit plain data (numbers, strings, tuples, dataclasses), give the "
            "class a __deepcopy__ method, or call enable_object_reuse() on the execution config "
            "if no function changes or keeps what it has emitted."
        ) from failure
