"""OVER in orders that are not time, against DuckDB: on streams that change, and in batch mode."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.property.queries.tables import ROWS, changelogs, oracle
from tests.unit.planner.tables import Tables

from scurry.planner.options import PlannerOptions
from scurry.testing.relations import Change, table_of

CALLS = ["COUNT(*)", "COUNT(v)", "SUM(v)", "MIN(v)", "MAX(v)"]
RANKS = ["RANK()", "DENSE_RANK()"]
#: what does not depend on the order of rows that compare as equal
SHARES = ["PERCENT_RANK()", "CUME_DIST()"]


@st.composite
def on_streams(draw: st.DrawFn) -> str:
    call = draw(st.sampled_from(CALLS + RANKS))
    partition = draw(st.sampled_from(["", "PARTITION BY k "]))
    order = draw(st.sampled_from(["v", "k", "s"]))
    inner = draw(st.sampled_from(["l", "(SELECT k, MAX(v) AS v, s FROM l GROUP BY k, s) AS g"]))
    window = f"({partition}ORDER BY {order} ASC NULLS FIRST)"
    return f"SELECT k, v, {call} OVER {window} AS n FROM {inner}"


@st.composite
def in_batches(draw: st.DrawFn) -> str:
    """Rows that are equal in all columns that count are alike, so ties do not matter."""
    partition = draw(st.sampled_from(["", "PARTITION BY s "]))
    way, nulls = draw(st.sampled_from([("ASC", "FIRST"), ("DESC", "LAST")]))
    if draw(st.booleans()):
        call = draw(st.sampled_from(CALLS + RANKS + SHARES))
        window = f"({partition}ORDER BY v {way} NULLS {nulls})"
    else:
        call = draw(st.sampled_from([*CALLS, "LAG(v)", "LEAD(v, 2)", "NTILE(3)", "ROW_NUMBER()"]))
        start, end = sorted(draw(st.tuples(st.integers(-2, 2), st.integers(-2, 2))))
        framed = call in CALLS
        frame = f" ROWS BETWEEN {_bound(start)} AND {_bound(end)}" if framed else ""
        order = ", ".join(f"{one} {way} NULLS {nulls}" for one in ("v", "k", "s"))
        window = f"({partition}ORDER BY {order}{frame})"
    return f"SELECT k, v, s, {call} OVER {window} AS n FROM l"


def _bound(distance: int) -> str:
    if not distance:
        return "CURRENT ROW"
    return f"{abs(distance)} {'PRECEDING' if distance < 0 else 'FOLLOWING'}"


def rounded(rows: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for row, count in rows.items():
        cells = (round(c, 9) if isinstance(c, float) and math.isfinite(c) else c for c in row)
        found[tuple(cells)] += count
    return found


def tables_of(rows: list[Change]) -> Tables:
    tables = Tables()
    tables.create("CREATE TABLE l (k INT, v INT, s STRING)", rows)
    return tables


@given(on_streams(), changelogs(ROWS["l"]), st.integers(1, 5), st.integers(1, 2))
def test_what_changes_amount_to(
    query: str, rows: list[Change], cuts: int, parallelism: int
) -> None:
    found = tables_of(rows).changes(query, cuts=cuts, parallelism=parallelism)
    assert rounded(table_of(found)) == rounded(oracle(query, {"l": rows}))


@given(in_batches(), st.lists(ROWS["l"], max_size=8), st.integers(1, 5))
def test_batches_have_every_frame(query: str, rows: list[Any], cuts: int) -> None:
    changes: list[Change] = [("+I", *row) for row in rows]
    options = PlannerOptions(query_start=0)
    found = tables_of(changes).changes(query, options, cuts=cuts, parallelism=2)
    assert {kind for kind, *_ in found} <= {"+I"}
    assert rounded(table_of(found)) == rounded(oracle(query, {"l": changes}))
