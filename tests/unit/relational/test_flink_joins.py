"""The changes that regular joins send for each record are those that Flink sends.

What Flink sends is in ``flink_joins.json``, which ``scripts/flink_joins.py`` makes. Flink leaves
open in which order the partners of a record come, so the changes of each record are compared as a
whole, and their kinds in order.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from scurry.common.changelog import ChangelogMode
from scurry.compile.job import Settings, compile_job
from scurry.plan.graph import Graph
from scurry.plan.nodes import Sink
from scurry.plan.relational import Calc, RegularJoin
from scurry.testing.local import LocalJob
from scurry.testing.relations import keyed, relation
from scurry.testing.sinks import ListSink

MADE = json.loads(Path(__file__).with_name("flink_joins.json").read_text())
BOTH = pa.schema([("side", pa.string()), ("k", pa.string()), ("n", pa.int64())])
ROWS = pa.schema([("k", pa.string()), ("n", pa.int64())])


def side_of(source: Any, side: str) -> Calc:
    return Calc(
        name=side,
        inputs=(source,),
        columns=ROWS,
        mode=ChangelogMode.RETRACT,
        condition=lambda columns, context: pc.equal(columns.column(0), side),
        projections=(lambda c, context: c.column(1), lambda c, context: c.column(2)),
    )


def groups_of(kind: str, conditional: bool) -> list[list[tuple[Any, ...]]]:
    """What each record of the input sends."""
    source = relation(BOTH, [tuple(change) for change in MADE["input"]])
    join = RegularJoin(
        name="join",
        inputs=(keyed(side_of(source, "l"), 0), keyed(side_of(source, "r"), 0)),
        columns=ROWS if kind in ("semi", "anti") else pa.schema([*ROWS, *ROWS]),
        mode=ChangelogMode.RETRACT,
        kind=kind,
        condition=(lambda c, context: pc.less(c.column(1), c.column(3))) if conditional else None,
    )
    sink, made = ListSink(), []
    graph = Graph.of("test", [Sink(name="sink", inputs=(join,), sink=sink)])
    with LocalJob(compile_job(graph, Settings(1))) as job:
        for _ in MADE["input"]:
            before = len(sink.values)
            job.step(1)
            new = sink.values[before:]
            made.append([(str(row.get_row_kind()), *row) for row in new])
    return made


@pytest.mark.parametrize("name", MADE["sent"])
def test_records_send_what_they_send_in_flink(name: str) -> None:
    flink = [tuple(change) for change in MADE["sent"][name]]
    groups = groups_of(name.split()[0], "if" in name)
    assert sum(map(len, groups)) == len(flink)
    for mine in groups:
        theirs, flink = flink[: len(mine)], flink[len(mine) :]
        assert Counter(mine) == Counter(theirs)
        assert [change[0] for change in mine] == [change[0] for change in theirs]
