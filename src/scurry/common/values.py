"""Names for values whose class only the user's program knows.

A stream carries what the program puts into it, and the engine hands it on without a look. Where
nothing is done with such a value, its annotation is ``object``. Where user code is called with it,
or takes its type from an annotation of its own, no annotation can say more than ``Any``; these
names say at least which value is meant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

#: An element of a stream.
Element: TypeAlias = Any
#: What a key selector returns.
Key: TypeAlias = Any
#: What a program keeps in state.
StateValue: TypeAlias = Any
#: What elements were combined into: an element that stands for several, or an accumulator.
Combined: TypeAlias = Any
#: What a window holds: the list of its elements, or what they were combined into.
Contents: TypeAlias = Any
#: Puts an element into what is combined already; ``MISSING`` stands for nothing.
Combine: TypeAlias = Callable[[Combined, Element], Combined]
#: Makes one of what two parts of a whole were combined into.
Merge: TypeAlias = Callable[[Combined, Combined], Combined]
#: Returns a copy that nobody else has a reference to, or the value itself if it cannot change.
Own: TypeAlias = Callable[[Any], Any]
