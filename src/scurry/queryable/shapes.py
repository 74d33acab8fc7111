"""How the records of a queryable state are read and shown."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from scurry.common.errors import StateError
from scurry.common.keys import thaw
from scurry.engine.queryable.view import SINGLE
from scurry.engine.spark.script_classes import load_with_classes
from scurry.queryable.errors import QueryError
from scurry.queryable.json_values import key_to_json, to_json
from scurry.state.codecs.encoding import NULL
from scurry.state.codecs.plain import PlainCodec
from scurry.state.codecs.records import RecordCodec, Stamped, head_of
from scurry.state.codecs.schemas import SchemaTable, decode_row
from scurry.state.feeds import QueryableState
from scurry.state.journal import RecordReader
from scurry.state.states import AggregatingStateDescriptor

#: A value, and when it expires, None if it does not.
Held = tuple[Any, int | None]


class Shape:
    """What is known of a state, made ready for reading."""

    def __init__(self, state: QueryableState, number: bytes) -> None:
        self.state = state
        self.number = number
        self.row = decode_row(state.schema)
        self.many = state.kind not in SINGLE
        self._codec: RecordCodec = PlainCodec(state.tables[0], self.row)
        self._result: Callable[[Any], Any] | None = None
        if state.kind == "AggregatingState":
            self._take_function()

    def _take_function(self) -> None:
        """What an aggregating state gives is what its function makes of the accumulator."""
        name = self.state.name
        try:
            descriptor = load_with_classes(pickle.loads(self.state.program))
            assert isinstance(descriptor, AggregatingStateDescriptor)
            self._codec = SchemaTable(_OneSchema(self.state.schema)).open(name, descriptor)
            self._result = descriptor.agg_function.get_result
        except Exception as failure:
            reason = f"{type(failure).__name__}: {failure}"

            def refuse(held: Any) -> Any:
                raise QueryError(
                    *(500, "no_function"),
                    f"The aggregate function of state {name!r} cannot be used here: {reason}",
                )

            self._result = refuse

    def key_of(self, record: bytes) -> Any:
        """The key of a record, as JSON."""
        return key_to_json(thaw(head_of(record)[0]))

    def show(self, records: list[bytes], clock: int | None) -> dict[str, Any] | None:
        """What the state has for a key, of the key's records; None if all has expired by
        ``clock``."""
        if not self.many:
            return self._single(records[0], clock)
        if self.state.kind in ("MapState", "SetState"):
            entries = [
                (thaw(head_of(record)[1]), *held)
                for record in records
                for held in self._alive([self._codec.unpack(record)], clock)
            ]
            return self._entries(entries) if entries else None
        pieces = chain.from_iterable(map(self._codec.unpack_many, records))
        held = list(self._alive(pieces, clock))
        return self._listed([(value, until) for value, until in held]) if held else None

    def _single(self, record: bytes, clock: int | None) -> dict[str, Any] | None:
        for value, until in self._alive([self._codec.unpack(record)], clock):
            if self._result is not None:
                value = self._computed(value)
            shown = {"value": to_json(value)}
            return shown if until is None else {**shown, "expires": until}
        return None

    def _computed(self, held: Any) -> Any:
        assert self._result is not None
        try:
            return self._result(None if held is NULL else held)
        except QueryError:
            raise
        except Exception as failure:
            raise QueryError(
                *(500, "function_failed"),
                f"get_result of state {self.state.name!r} failed: {type(failure).__name__}: "
                f"{failure}",
            ) from failure

    def _alive(self, values: Any, clock: int | None) -> Iterator[Held]:
        """The values that have not expired, with the times at which they do."""
        for value in values:
            if not isinstance(value, Stamped):
                yield value, None
                continue
            stamp = self.row.since if value.stamp is None else value.stamp
            until = None if stamp is None or not self.row.lifetime else stamp + self.row.lifetime
            if until is None or clock is None or clock < until or self.state.shows_expired:
                yield value.value, until

    def _entries(self, entries: list[tuple[Any, Any, int | None]]) -> dict[str, Any]:
        if self.state.kind == "SetState":
            return self._listed([(entry, until) for entry, _, until in entries])
        return {
            "entries": [
                {
                    "key": key_to_json(entry),
                    "value": to_json(value),
                    **({} if until is None else {"expires": until}),
                }
                for entry, value, until in entries
            ]
        }

    def _listed(self, held: list[Held]) -> dict[str, Any]:
        shown: dict[str, Any] = {"elements": [to_json(value) for value, _ in held]}
        if any(until is not None for _, until in held):
            shown["expires"] = [until for _, until in held]
        return shown


class _OneSchema(RecordReader):
    """A store that has the schema of a state and one record of it."""

    def __init__(self, schema: bytes) -> None:
        self._schema = schema

    def get(self, table: str, key: bytes) -> bytes | None:
        return self._schema

    def get_many(self, table: str, keys: list[bytes]) -> list[bytes | None]:
        raise StateError("there are no records here")

    def scan(self, table: str, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        yield b"", b""
