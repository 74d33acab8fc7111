"""Random queries over random changelogs: what the changes amount to is what DuckDB computes from
the final tables, however the input is cut, and also after a crash and a restart."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.property.queries.query import Query
from tests.property.queries.shapes import queries
from tests.property.queries.tables import Changelogs, inputs, insertions, oracle, tables_of

from scurry.planner.options import PlannerOptions
from scurry.testing.relations import table_of

#: every change, the net change of batches, and aggregates in two steps
OPTIONS = [
    PlannerOptions(),
    PlannerOptions(mini_batch=True),
    PlannerOptions(mini_batch=True, agg_phase="ONE_PHASE"),
    PlannerOptions(split_distinct=True),
    PlannerOptions(mini_batch=True, split_distinct=True),
]


@given(
    queries(),
    inputs(),
    st.integers(1, 5),
    st.integers(1, 2),
    st.sets(st.integers(1, 4), max_size=2),
    st.sets(st.integers(1, 4), max_size=1),
    st.sampled_from(OPTIONS),
)
def test_incremental_equals_recomputed(
    query: Query,
    given: Changelogs,
    cuts: int,
    parallelism: int,
    crash: set[int],
    restart: set[int],
    options: PlannerOptions,
) -> None:
    how = {"cuts": cuts, "parallelism": parallelism, "crash": crash, "restart": restart}
    found = table_of(tables_of(given).changes(query.text, options, **how))
    assert found == oracle(query.duck, given)


@given(queries(), insertions(), st.integers(1, 5))
def test_batch_mode_sends_the_same_rows_once(query: Query, given: Changelogs, cuts: int) -> None:
    options = PlannerOptions(query_start=0)
    found = tables_of(given).changes(query.text, options, cuts=cuts, parallelism=2)
    assert {kind for kind, *_ in found} <= {"+I"}
    assert table_of(found) == oracle(query.in_batches, given)
