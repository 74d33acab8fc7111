"""Results of windows on their way out: rows gather as columns, and become one batch."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from scurry.runtime.batch import MAX_WATERMARK, MIN_WATERMARK, TIMER_TICK, Batch, Longs
from scurry.runtime.columnar.key_codes import KeyCodes
from scurry.runtime.columnar.measures import Measures
from scurry.runtime.columnar.partials import Columns, concat
from scurry.runtime.columns import ElementCodec, to_list

#: A column of results: of Arrow, or plain values where Arrow has no type for them.
Column: TypeAlias = "pa.Array | list[object]"
_PLACES = ("wm", "pos", "tick")


class Results:
    """What windows have fired in one call of an operator, in order."""

    def __init__(self, measures: Measures, keys: KeyCodes, keyed: bool) -> None:
        self._measures = measures
        self._keys = keys
        self._keyed = keyed
        self._columns: list[Columns] = []
        self._sizes: list[int] = []
        #: per piece: codes, starts, last instants, wm, pos, tick
        self._beside: list[tuple[Longs, ...]] = []

    def placed(
        self,
        codes: Longs,
        starts: Longs,
        lasts: Longs,
        columns: Columns,
        batch: Batch | None = None,
        at: Longs | None = None,
    ) -> None:
        """Add the results of windows that fire. ``at`` says for each window which record of
        ``batch`` made it fire; -1, or no ``at``, means that time reached its last instant."""
        ticks = np.full(len(codes), TIMER_TICK, dtype=np.int64)
        places = [lasts - 1, lasts, ticks]
        if batch is not None and at is not None and (at >= 0).any():
            for number, name in enumerate(_PLACES):
                column = getattr(batch, name)
                nowhere = 0 if name == "tick" else MIN_WATERMARK
                caused = np.full(len(at), nowhere) if column is None else column[at]
                places[number] = np.where(at >= 0, caused, places[number])
        self._columns.append(columns)
        self._sizes.append(len(codes))
        self._beside.append((codes, starts, lasts, *places))

    def batch(self) -> Batch | None:
        """All of it, as columns where there is a column type for everything."""
        if not self._columns:
            return None
        columns = concat(self._columns, self._sizes)
        codes, starts, lasts, wm, pos, tick = (
            np.concatenate(pieces) for pieces in zip(*self._beside, strict=True)
        )
        named: list[tuple[str, Column]] = [("key", _column(self._keys.results(codes)))]
        named.append(("window_start", pa.array(starts)))
        endless = bool((lasts == MAX_WATERMARK).any())
        ends = [last + 1 for last in lasts.tolist()] if endless else pa.array(lasts + 1)
        named.append(("window_end", ends))
        results = map(_column, self._measures.results(columns))
        names = [one.name for one in self._measures.aggregates]
        named += zip(_distinct(names), results, strict=True)
        return _made(named if self._keyed else named[1:], ts=lasts, wm=wm, pos=pos, tick=tick)


def _made(named: list[tuple[str, Column]], **places: Any) -> Batch:
    values = [column for _, column in named]
    if all(isinstance(column, pa.Array) for column in values):
        columns = pa.RecordBatch.from_arrays(values, names=[name for name, _ in named])
        codec = ElementCodec.of_tuples(columns.schema)
        return Batch(None, columns=columns, codec=codec, **places)
    lists = [to_list(column) if isinstance(column, pa.Array) else column for column in values]
    return Batch(list(zip(*lists, strict=True)), **places)


def _column(values: Column) -> Column:
    """``values`` as an Arrow column of strings if all are strings, else as they are."""
    if isinstance(values, list) and set(map(type, values)) == {str}:
        try:
            return pa.array(values, pa.string())
        except UnicodeEncodeError:
            return values
    return values


def _distinct(names: list[str]) -> list[str]:
    taken = {"key", "window_start", "window_end"}
    made = []
    for name in names:
        chosen, number = name, 2
        while chosen in taken:
            chosen, number = f"{name}_{number}", number + 1
        taken.add(chosen)
        made.append(chosen)
    return made
