"""Relations in tests: changelogs as lists of tuples, in and out of plan nodes, without a JVM.

A change is a tuple whose first element is the short form of its kind: ``("+U", "a", 3)``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from scurry.common.changelog import ChangelogMode
from scurry.common.types import RowKind
from scurry.compile.job import Settings, compile_job
from scurry.connectors.relation import RelationSource
from scurry.functions.aggregate_calls import ColumnsKey
from scurry.plan.graph import Graph
from scurry.plan.nodes import KeyBy, Node, Sink, Source
from scurry.state.backends import StateSettings
from scurry.testing.local import LocalJob, _sizes
from scurry.testing.sinks import ListSink

#: A change: its kind, then the row.
Change = tuple[Any, ...]
_KINDS = {str(kind): kind for kind in RowKind}


def relation(
    schema: pa.Schema,
    changes: Sequence[Change],
    name: str = "table",
    mode: ChangelogMode = ChangelogMode.RETRACT,
) -> Source:
    """A source of ``changes``; of insertions only, if all of them are."""
    lists: list[Any] = list(zip(*(change[1:] for change in changes), strict=True))
    arrays = [
        pa.array(one, field.type)
        for one, field in zip(lists or [()] * len(schema), schema, strict=True)
    ]
    kinds = [_KINDS[change[0]] for change in changes]
    if set(kinds) <= {RowKind.INSERT}:
        source = RelationSource(pa.table(arrays, schema=schema))
    else:
        source = RelationSource(pa.table(arrays, schema=schema), kinds, mode)
    return Source(name=name, source=source, uid=name)


def keyed(node: Node, *indexes: int) -> KeyBy:
    """``node`` by the columns at ``indexes``."""
    return KeyBy(name="key", inputs=(node,), selector=ColumnsKey(*indexes))


def changes_of(
    node: Node,
    cuts: int | Iterable[int] | None = None,
    crash: Iterable[int] = (),
    restart: Iterable[int] = (),
    rescale: Mapping[int, int] | None = None,
    parallelism: int = 1,
    state: StateSettings | None = None,
) -> list[Change]:
    """What ``node`` sends until its bounded sources end; see :func:`scurry.testing.run_local`."""
    sink = ListSink()
    graph = Graph.of("test", [Sink(name="sink", inputs=(node,), sink=sink)])

    def compiled(degree: int) -> Any:
        return compile_job(graph, Settings(degree, state=state or StateSettings()))

    crashing, restarting, degrees = set(crash), set(restart), rescale or {}
    with LocalJob(compiled(parallelism)) as job:
        for size in _sizes(cuts):
            batch = job.batch + 1
            if batch in restarting:
                job.restart(lose_local_state=True)
            advance = job.crash_step if batch in crashing else job.step
            if batch in degrees and not job.done:
                if batch in crashing:
                    advance = partial(job.crash_and_rescale_step, compiled(degrees[batch]))
                else:
                    job.rescale(compiled(degrees[batch]))
            if job.done or not advance(size):
                break
    return [(str(row.get_row_kind()), *row) for row in sink.values]


def table_of(changes: Iterable[Change]) -> Counter[tuple[Any, ...]]:
    """The table that ``changes`` amount to: how often each row is in it. A row that is taken back
    and was not there has a negative count."""
    table: Counter[tuple[Any, ...]] = Counter()
    for kind, *row in changes:
        table[tuple(map(_hashable, row))] += 1 if kind in ("+I", "+U") else -1
    return Counter({row: count for row, count in table.items() if count})


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return tuple(sorted(value.items())) if isinstance(value, dict) else value
