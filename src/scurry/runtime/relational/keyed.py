"""What operators on relations have in common that keep something for each key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from scurry.common.keys import stable_hash, stable_hash_int64
from scurry.functions.aggregate_calls import AggregateCall
from scurry.runtime.batch import Batch
from scurry.runtime.columnar.batch_keys import picked_columns
from scurry.runtime.columnar.equal_rows import Hashes
from scurry.runtime.columnar.keyed_columns import KeyedColumns
from scurry.runtime.columnar.row_sets import RowSets
from scurry.runtime.key_columns import key_column
from scurry.runtime.keyed_state import store_of
from scurry.runtime.relational.relation import EvaluatingOperator
from scurry.runtime.specs import OperatorSpec
from scurry.state.layout import Parameter, StateLayout
from scurry.state.table_forms import StoredCall, TableForm, packed_schema

#: How the names of their tables begin; all of them are dealt out by key group.
VALUES_OF_KEYS, ROWS_OF_KEYS = "#columns", "#rows"


class KeyedRelationalOperator(EvaluatingOperator):
    """Keeps typed values, rows, or both for each key. ``keys`` are the key columns of each input;
    ``retention_ms`` is for how long state is kept that is not written, 0 for ever."""

    state_kind: ClassVar[str] = "columns of keys"

    def __init__(
        self,
        spec: OperatorSpec,
        columns: pa.Schema,
        inputs: tuple[pa.Schema, ...],
        keys: tuple[tuple[int, ...], ...],
        retention_ms: int,
    ) -> None:
        super().__init__(spec, columns, inputs)
        self.keys = keys
        self.retention_ms = retention_ms
        self.picked = [picked_columns(one) for one in keys]

    @classmethod
    def state_layout(cls, *arguments: Any) -> StateLayout:
        _, inputs, keys = arguments[:3]
        parameters: dict[str, Parameter] = {"keys": _words(keys), "columns": _schema(inputs)}
        parameters.update(cls.layout_parameters(*arguments[4:]))
        return StateLayout(cls.state_kind, cls.state_version, parameters, cls.reads_from)

    @classmethod
    def layout_parameters(cls, *arguments: Any) -> dict[str, str]:
        """What else the stored format depends on, given the arguments after the common ones."""
        return {}

    def values_of_keys(
        self,
        fields: Mapping[str, Any],
        name: str = "",
        titles: Mapping[str, str] | None = None,
        rows: pa.Schema | None = None,
    ) -> KeyedColumns:
        """A table of typed values for each key. Whoever reads it without this operator sees the
        fields under ``titles``, and in the field ``row`` rows of ``rows``."""
        store, full = store_of(self.context), f"{self.spec.uid}\x1f{VALUES_OF_KEYS}{name}"
        shown = titles or {}
        values = [(shown.get(n, n), np.dtype(kind).str) for n, kind in fields.items()]
        self.describe(full, rows, values=values)
        return store.part(
            full, lambda: KeyedColumns(full, store, fields, self.retention_ms, self._now)
        )

    def rows_of_keys(
        self, name: str = "", rows: pa.Schema | None = None, skipped: int = 0, *numbers: str
    ) -> RowSets:
        """A table of rows for each key. Whoever reads it without this operator finds rows of
        ``rows`` behind so many bytes, each with ``numbers``; without ``rows`` it cannot be read."""
        store, full = store_of(self.context), f"{self.spec.uid}\x1f{ROWS_OF_KEYS}{name}"
        if rows is not None:
            self.describe(full, rows, skipped=skipped, numbers=list(numbers))
        return store.part(full, lambda: RowSets(full, store, self.retention_ms, self._now))

    def counted_values(self, name: str, kinds: Sequence[pa.DataType]) -> RowSets:
        """A table of values of these types for each key, with how often each is there."""
        rows = pa.schema([(f"value{at or ''}", kind) for at, kind in enumerate(kinds)])
        return self.rows_of_keys(name, rows, 0, "count")

    def describe(
        self, table: str, rows: pa.Schema | None, windows: bool = False, **form: Any
    ) -> None:
        """Say how a table can be read without this operator. Rows of an input have the columns of
        their keys in them, unless they are combined by window."""
        schema, keys = self.inputs[0], ""
        if windows or not any(rows is one for one in self.inputs):
            keys = packed_schema(pa.schema([schema.field(at) for at in self.keys[0]]))
        packed = "" if rows is None else packed_schema(rows)
        name = table.partition("\x1f")[2]
        store_of(self.context).forms[table] = TableForm(name, keys, packed, **form)

    def _now(self) -> int:
        return self.context.now

    def _hashes(self, part: Batch, port: int = 0) -> Hashes:
        """The hashes of keys: those by which rows found their way here."""
        if part.key_column is not None:
            return stable_hash_int64(part.key_column)
        found = key_column(part, self.picked[port])
        if found is None:
            assert part.keys is not None
            return np.array([stable_hash(key) for key in part.keys], dtype=np.uint64)
        if found.hashes is None:
            return stable_hash_int64(found.codes)
        return np.asarray(found.hashes(), dtype=np.uint64)[found.codes]


def _words(keys: tuple[tuple[int, ...], ...]) -> str:
    return " | ".join(",".join(map(str, one)) for one in keys)


def _schema(inputs: tuple[pa.Schema, ...]) -> str:
    return " | ".join(", ".join(str(kind) for kind in one.types) for one in inputs)


def title_in(call: AggregateCall, schema: pa.Schema) -> str:
    """What to call an aggregate of rows of ``schema``."""
    return re.sub(r"\$(\d+)", lambda found: schema.field(int(found[1])).name, call.title)


def titles_of(
    calls: Sequence[AggregateCall], fields: Iterable[str], schema: pa.Schema
) -> dict[str, str]:
    """What to call the columns of accumulators, which are called ``number.part``."""
    titles = {}
    for name in fields:
        number, dot, part = name.partition(".")
        if dot:
            titles[name] = f"{title_in(calls[int(number)], schema)}.{part}"
    return titles


def stored_calls(calls: Sequence[AggregateCall], schema: pa.Schema) -> dict[str, Any]:
    """Aggregates whose parts a table holds, for its form."""
    results = pa.schema([(title_in(call, schema), call.type) for call in calls])
    stored = [StoredCall(call.function, list(call.arguments), call.filter) for call in calls]
    return {"calls": stored, "results": packed_schema(results)}
