"""`HybridSource`: several sources, one after the other, as one stream.

The classic use: history from files, then what is new from a broker. Each source but the last must
end; when one has, the next begins, in the same job, with the same state. The name of a partition
has the number of its source in front, which tells the partitions of different sources apart. The
partitions of a source that has ended no longer hold the watermark back.
"""

from __future__ import annotations

from collections.abc import Iterator

from scurry.common.any_paths import AnyPath
from scurry.common.changelog import mode_of_union
from scurry.common.errors import ProgramError, StateError
from scurry.common.type_information import TypeInformation
from scurry.functions.source import Json, ReadPlan, ReadRange, Source, SourceBatch, SourceEnumerator

__all__ = ["HybridSource", "HybridSourceBuilder"]


class HybridSource(Source):
    """Reads sources in turn; made with :meth:`builder`."""

    def __init__(self, sources: tuple[Source, ...]) -> None:
        for source in sources[:-1]:
            if not source.bounded:
                raise ProgramError(
                    f"HybridSource: {source!r} never ends, so what comes after it would never be "
                    "read. Make it bounded, or put it last."
                )
        self._sources = sources
        self.bounded = sources[-1].bounded
        self.changelog = mode_of_union(source.changelog for source in sources)
        self.columnar = all(source.columnar for source in sources)
        self.as_tuples = all(source.as_tuples for source in sources)
        self.side_outputs = tuple(
            dict.fromkeys(tag for source in sources for tag in source.side_outputs)
        )

    @staticmethod
    def builder(first_source: Source) -> HybridSourceBuilder:
        """Begin with a source."""
        return HybridSourceBuilder(first_source)

    @property
    def type_info(self) -> TypeInformation | None:
        kinds = [source.type_info for source in self._sources]
        return kinds[0] if all(kind == kinds[0] for kind in kinds) else None

    @property
    def keeps_files(self) -> bool:
        return any(source.keeps_files for source in self._sources)

    @property
    def room_anywhere(self) -> bool:  # type: ignore[override]
        return any(source.room_anywhere for source in self._sources)

    @property
    def needs_slot(self) -> bool:
        return any(source.needs_slot for source in self._sources)

    def take_engine(self, engine: str) -> None:
        for source in self._sources:
            source.take_engine(engine)

    def take_room(self, room: AnyPath) -> None:
        for number, source in enumerate(self._sources):
            source.take_room(room / str(number))

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return _InTurn(self._sources, parallelism)

    def read(self, what: Json) -> Iterator[SourceBatch]:
        number, inner = what
        yield from self._sources[number].read(inner)


class HybridSourceBuilder:
    """Lines sources up."""

    def __init__(self, first_source: Source) -> None:
        self._sources: list[Source] = []
        self.add_source(first_source)

    def add_source(self, source: Source) -> HybridSourceBuilder:
        """Go on with ``source`` when the one before has ended."""
        if not isinstance(source, Source):
            raise ProgramError(f"HybridSource takes sources, got {source!r}.")
        self._sources.append(source)
        return self

    def build(self) -> HybridSource:
        """The finished source."""
        return HybridSource(tuple(self._sources))


class _InTurn(SourceEnumerator):
    """A position is the number of the current source, and the position in that. Only the current
    source has an enumerator; it is made when the source's turn comes."""

    def __init__(self, sources: tuple[Source, ...], parallelism: int) -> None:
        self._sources = sources
        self._parallelism = parallelism
        self._number = -1
        self._current: SourceEnumerator | None = None

    def _enumerator(self, number: int) -> SourceEnumerator:
        if number >= len(self._sources):
            raise StateError(
                f"The checkpoint stands in source {number + 1} of a HybridSource, which now has "
                f"{len(self._sources)}. Sources may be added at the end, not taken away."
            )
        if self._current is None or self._number != number:
            self.close()
            self._number = number
            self._current = self._sources[number].enumerator(self._parallelism)
        return self._current

    def initial_position(self) -> Json:
        return [0, self._enumerator(0).initial_position()]

    def plan(self, position: Json, max_records: int) -> ReadPlan:
        number, inner = position
        ended: set[str] = set()
        while True:
            enumerator = self._enumerator(number)
            found = enumerator.plan(inner, max_records)
            names = {one.partition for one in found.ranges}
            over = found.finished and number + 1 < len(self._sources)
            gone = {*found.ended, *names, *enumerator.partitions()} if over else found.ended
            ended.update(f"{number}/{name}" for name in gone)
            if not over:
                after = [number, found.position]
                break
            after = [number + 1, self._enumerator(number + 1).initial_position()]
            if found.ranges:
                break
            number, inner = after
        ranges = [ReadRange(f"{number}/{r.partition}", [number, r.what]) for r in found.ranges]
        return ReadPlan(after, ranges, found.finished and not over, frozenset(ended))

    def goes_on(self, position: Json, bounded: bool) -> bool:
        number, inner = position
        if number + 1 < len(self._sources):
            return True
        return self._enumerator(number).goes_on(inner, bounded)

    def partitions(self) -> list[str]:
        if self._current is None:
            return []
        return [f"{self._number}/{name}" for name in self._current.partitions()]

    def committed(self, position: Json) -> None:
        number, inner = position
        if self._current is not None and number == self._number:
            self._current.committed(inner)

    def observed(self, records: int, bytes_read: int) -> None:
        if self._current is not None:
            self._current.observed(records, bytes_read)

    def gauges(self) -> dict[str, int]:
        return {} if self._current is None else self._current.gauges()

    def close(self) -> None:
        if self._current is not None:
            self._current.close()
            self._current = None
