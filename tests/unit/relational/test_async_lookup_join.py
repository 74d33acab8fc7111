"""Lookup joins that await their rows: order, what is asked, what is asked again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from scurry.common.changelog import ChangelogMode
from scurry.common.data_types import DataTypes
from scurry.common.errors import FunctionError
from scurry.functions.async_io import AsyncFunction
from scurry.functions.expressions import InputRef
from scurry.functions.lookups import AwaitedLookup, LookupSettings
from scurry.plan.relational import AsyncLookupJoin, LookupJoin
from scurry.testing.relations import changes_of, relation

SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64())])
FOUND = pa.schema([("name", pa.string())])
#: what was asked for, in order; cleared by each test
ASKED: list[str] = []


@pytest.fixture(autouse=True)
def nothing_asked() -> None:
    ASKED.clear()


class Names(AwaitedLookup):
    """Finds two names for "a", which only comes when "b" was asked for; "later" is found when it
    is asked for the third time."""

    def open(self, context: Any) -> None: ...

    def close(self) -> None: ...

    def awaited(self) -> AsyncFunction:
        return _Calls()

    def columns_of(self, rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist([{"name": name} for (name,) in rows], FOUND)

    def lookup(self, keys: pa.RecordBatch) -> tuple[pa.RecordBatch, Any]:
        found, of = [], []
        for number, key in enumerate(keys.column(0).to_pylist()):
            ASKED.append(key)
            rows = _rows(key)
            found += rows
            of += [number] * len(rows)
        return self.columns_of(found), np.array(of, dtype=np.int64)


def _rows(key: str) -> list[tuple[Any, ...]]:
    if key == "later" and ASKED.count(key) < 3:
        return []
    return {"a": [("Ann",), ("Abe",)], "b": [("Bob",)], "later": [("Lee",)]}.get(key, [])


class _Calls(AsyncFunction):
    async def open(self, runtime_context: Any) -> None:  # type: ignore[override]
        self._b_asked = asyncio.Event()

    async def async_invoke(self, value: Any) -> list[Any]:
        (key,) = value
        ASKED.append(key)
        if key == "fail":
            raise ConnectionError("the database is away")
        if key == "never":
            await asyncio.Event().wait()
        if key == "b":
            self._b_asked.set()
        if key == "a":
            await self._b_asked.wait()
            await asyncio.sleep(0)
        return [_rows(key)]


def join(changes: list[Any], kind: type[LookupJoin] = AsyncLookupJoin, **options: Any) -> Any:
    settings = LookupSettings(**options.pop("settings", {}))
    return kind(
        name="look up",
        inputs=(relation(SCHEMA, changes),),
        columns=pa.schema([*SCHEMA, *FOUND]),
        mode=ChangelogMode.RETRACT,
        lookup=Names(),
        keys=(InputRef(0, DataTypes.STRING()),),
        settings=settings,
        **options,
    )


CHANGES = [("+I", "a", 1), ("+I", None, 2), ("+I", "b", 3), ("+I", "c", 4)]
ANN, ABE = ("+I", "a", 1, "Ann"), ("+I", "a", 1, "Abe")
BOB, NOTHING, MISSED = ("+I", "b", 3, "Bob"), ("+I", None, 2, None), ("+I", "c", 4, None)


def test_calls_are_under_way_together_and_rows_keep_their_order() -> None:
    assert changes_of(join(CHANGES)) == [ANN, ABE, BOB]
    assert changes_of(join(CHANGES, left=True)) == [ANN, ABE, NOTHING, BOB, MISSED]
    assert sorted(ASKED) == ["a", "a", "b", "b", "c", "c"], "a null is not asked for"


def test_rows_may_go_on_as_their_calls_end() -> None:
    unordered = join(CHANGES, left=True, settings={"ordered": False})
    found = changes_of(unordered)
    assert found.index(BOB) < found.index(ANN) < found.index(ABE)
    assert sorted(found, key=repr) == sorted([ANN, ABE, NOTHING, BOB, MISSED], key=repr)


@pytest.mark.parametrize("kind", [LookupJoin, AsyncLookupJoin])
def test_what_was_not_found_is_asked_for_again(kind: type[LookupJoin]) -> None:
    rows = [("+I", "later", 1), ("+I", "b", 2)]
    twice = join(rows, kind, left=True, settings={"retries": 1, "delay_ms": 1})
    assert changes_of(twice) == [("+I", "later", 1, None), ("+I", "b", 2, "Bob")]
    assert sorted(ASKED) == ["b", "later", "later"]
    ASKED.clear()
    often = join(rows, kind, settings={"retries": 5, "delay_ms": 1})
    assert changes_of(often) == [("+I", "later", 1, "Lee"), ("+I", "b", 2, "Bob")]
    assert sorted(ASKED) == ["b", "later", "later", "later"]


def test_failures_and_timeouts_end_the_query() -> None:
    with pytest.raises(FunctionError, match="the database is away"):
        changes_of(join([("+I", "fail", 1)]))
    with pytest.raises(FunctionError, match="did not end in time"):
        changes_of(join([("+I", "never", 1)], settings={"timeout_ms": 20}))
