"""What operators on relations have in common that keep something for each key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pyarrow as pa

from scurry.runtime.columnar.batch_keys import picked_columns
from scurry.runtime.columnar.keyed_columns import KeyedColumns
from scurry.runtime.columnar.row_sets import RowSets
from scurry.runtime.keyed_state import store_of
from scurry.runtime.relational.relation import EvaluatingOperator
from scurry.runtime.specs import OperatorSpec
from scurry.state.layout import Parameter, StateLayout

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

    def values_of_keys(self, fields: Mapping[str, Any], name: str = "") -> KeyedColumns:
        """A table of typed values for each key."""
        store, full = store_of(self.context), f"{self.spec.uid}\x1f{VALUES_OF_KEYS}{name}"
        return store.part(
            full, lambda: KeyedColumns(full, store, fields, self.retention_ms, self._now)
        )

    def rows_of_keys(self, name: str = "") -> RowSets:
        """A table of rows for each key."""
        store, full = store_of(self.context), f"{self.spec.uid}\x1f{ROWS_OF_KEYS}{name}"
        return store.part(full, lambda: RowSets(full, store, self.retention_ms, self._now))

    def _now(self) -> int:
        return self.context.now


def _words(keys: tuple[tuple[int, ...], ...]) -> str:
    return " | ".join(",".join(map(str, one)) for one in keys)


def _schema(inputs: tuple[pa.Schema, ...]) -> str:
    return " | ".join(", ".join(str(kind) for kind in one.types) for one in inputs)
