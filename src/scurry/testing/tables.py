"""Tables in tests: queries run in this process, without a JVM, in every way that must not matter.

A change is a tuple whose first element is the short form of its kind: ``("+U", "a", 3)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scurry.common.types import Row
from scurry.connectors.tables.driver_rows import CollectRows
from scurry.datastream.transformation import Transformation
from scurry.plan import nodes
from scurry.table.relations import row_type_of
from scurry.table.table import Table
from scurry.table.table_environment import TableEnvironment
from scurry.table.table_pipeline import TablePipeline
from scurry.testing.local import run_local
from scurry.testing.relations import Change


def changes_of_table(
    table: Table,
    cuts: int | Iterable[int] | None = None,
    crash: Iterable[int] = (),
    restart: Iterable[int] = (),
    rescale: Mapping[int, int] | None = None,
    parallelism: int = 1,
) -> list[Change]:
    """What a query gives until its bounded sources end; see :func:`scurry.testing.run_local`."""
    environment = table._environment
    sink = CollectRows(row_type_of(table.relation))
    read = environment.jobs.relation_step(table.relation)
    step = Transformation(nodes.Sink, "Collect", [read], sink=sink)
    _run(environment, [step], parallelism, cuts, crash, restart, rescale)
    return [as_change(row) for row in sink.rows()]


def run_inserts(
    environment: TableEnvironment,
    pipelines: Sequence[TablePipeline],
    cuts: int | Iterable[int] | None = None,
    parallelism: int = 1,
) -> None:
    """Run INSERTs until their bounded sources end."""
    steps = environment.jobs.sink_steps(pipelines)
    _run(environment, steps, parallelism, cuts, (), (), None)


def _run(
    environment: TableEnvironment,
    steps: Sequence[Transformation],
    parallelism: int,
    cuts: Any,
    crash: Iterable[int],
    restart: Iterable[int],
    rescale: Mapping[int, int] | None,
) -> None:
    stream = environment.stream_environment
    with stream._only(steps, parallelism):
        run_local(stream, cuts, crash, restart, rescale)


def as_change(row: Row) -> Change:
    """A row with the short form of its kind in front."""
    return (str(row.get_row_kind()), *row)
