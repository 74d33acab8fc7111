"""A source of which a query reads some columns only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from scurry.functions.source import Json, Source, SourceBatch, SourceEnumerator


class ProjectedSource(Source):
    """Some columns of another source, in another order, cast to their declared types."""

    columnar = True

    def __init__(self, inner: Source, names: Sequence[str], schema: pa.Schema) -> None:
        self._inner = inner
        self._places = [list(names).index(name) for name in schema.names]
        self.relation = schema
        self.bounded = inner.bounded
        self.max_tasks = inner.max_tasks
        self.changelog = inner.changelog
        self.side_outputs = inner.side_outputs

    @property
    def position_form(self) -> str:
        return self._inner.position_form

    def take_engine(self, engine: str) -> None:
        self._inner.take_engine(engine)

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return self._inner.enumerator(parallelism)

    def read(self, what: Json) -> Iterator[SourceBatch]:
        assert self.relation is not None
        for batch in self._inner.read(what):
            assert batch.columns is not None
            arrays = [
                batch.columns.column(place).cast(field.type)
                for place, field in zip(self._places, self.relation, strict=True)
            ]
            if arrays:
                batch.columns = pa.RecordBatch.from_arrays(arrays, schema=self.relation)
            else:
                batch.columns = batch.columns.select([])
            yield batch

    def __repr__(self) -> str:
        return repr(self._inner)
