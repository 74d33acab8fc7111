"""Connected streams: two streams, of different types perhaps, that one function processes.

Both streams reach the same instance of the function, so what one stream leaves in its state or its
fields the other one finds there. With ``key_by`` elements of equal keys meet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scurry.common.errors import ProgramError
from scurry.common.type_inference import return_type_of, yield_type_of
from scurry.common.type_information import TypeInformation
from scurry.datastream.keyed_stream import KeyedStream
from scurry.datastream.plain_stream import DataStream
from scurry.functions.co_process import (
    CoFlatMap,
    CoFlatMapFunction,
    CoMap,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from scurry.plan import nodes

if TYPE_CHECKING:
    from collections.abc import Callable


class ConnectedStreams:
    """Two streams side by side. What is done with them makes one stream again."""

    def __init__(self, stream1: DataStream, stream2: DataStream) -> None:
        self.stream1 = stream1
        self.stream2 = stream2

    def key_by(
        self, key_selector1: Any, key_selector2: Any, key_type: TypeInformation | None = None
    ) -> ConnectedStreams:
        """Partition both streams by key, each by its own selector."""
        return ConnectedStreams(
            self.stream1.key_by(key_selector1, key_type),
            self.stream2.key_by(key_selector2, key_type),
        )

    def map(self, func: CoMapFunction, output_type: Any = None) -> DataStream:
        """Replace each element by what ``map1`` or ``map2`` returns; None drops it."""
        self._check("map", func, CoMapFunction)
        inferred = common_type(return_type_of, func.map1, func.map2)
        return self._then("Co-Map", CoMap(func), output_type, inferred)

    def flat_map(self, func: CoFlatMapFunction, output_type: Any = None) -> DataStream:
        """Replace each element by what ``flat_map1`` or ``flat_map2`` yields."""
        self._check("flat_map", func, CoFlatMapFunction)
        inferred = common_type(yield_type_of, func.flat_map1, func.flat_map2)
        return self._then("Co-Flat Map", CoFlatMap(func), output_type, inferred)

    def process(
        self, func: CoProcessFunction | KeyedCoProcessFunction, output_type: Any = None
    ) -> DataStream:
        """Process the elements of both streams with time, side outputs and, if the streams have
        keys, the state and timers of the key."""
        self._check("process", func, CoProcessFunction, KeyedCoProcessFunction)
        if isinstance(func, KeyedCoProcessFunction) and not self._keyed():
            raise ProgramError(
                f"{type(func).__name__} is a KeyedCoProcessFunction, and the connected streams "
                "have no keys: call key_by(selector1, selector2) before process(...)."
            )
        inferred = common_type(yield_type_of, func.process_element1, func.process_element2)
        name = "Keyed Co-Process" if self._keyed() else "Co-Process"
        return self._then(name, func, output_type, inferred)

    def _check(self, operation: str, func: Any, *kinds: type) -> None:
        if not isinstance(func, kinds):
            wanted = " or a ".join(kind.__name__ for kind in kinds)
            raise ProgramError(
                f"{operation} on connected streams needs a {wanted}, got {func!r} "
                f"({type(func).__name__})."
            )

    def _keyed(self) -> bool:
        keyed = [isinstance(stream, KeyedStream) for stream in (self.stream1, self.stream2)]
        if keyed[0] != keyed[1]:
            first, second = ("first", "second") if keyed[0] else ("second", "first")
            raise ProgramError(
                f"The {first} of the connected streams has keys, the {second} has none. Call "
                "connect(...) on streams that both have keys, or key_by(selector1, selector2) on "
                "the connected streams."
            )
        return keyed[0]

    def _then(
        self, name: str, function: Any, output_type: Any, inferred: TypeInformation | None
    ) -> DataStream:
        kind = nodes.KeyedCoProcess if self._keyed() else nodes.CoProcess
        return self.stream1._then(
            kind, name, output_type, inferred, [self.stream2], function=function
        )


def common_type(
    find: Callable[[Callable[..., Any]], TypeInformation | None],
    first: Callable[..., Any],
    second: Callable[..., Any],
) -> TypeInformation | None:
    """The type that both methods are annotated with, None if they differ."""
    one, other = find(first), find(second)
    return one if one == other else None
