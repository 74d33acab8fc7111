"""Relations on Spark: the changelogs of the local engine, in micro-batches and several slots."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from scurry.common import Configuration
from scurry.common.changelog import ChangelogMode
from scurry.compile.job import Settings, compile_job
from scurry.engine.spark.launch import launch
from scurry.functions.aggregate_calls import AggregateCall, SortKey
from scurry.plan.graph import Graph
from scurry.plan.nodes import Node, Sink
from scurry.plan.relational import GroupAggregate, Rank, RegularJoin
from scurry.testing import ListSink
from scurry.testing.relations import Change, changes_of, keyed, relation, table_of

BIDS = pa.schema([("auction", pa.int64()), ("price", pa.int64()), ("bidder", pa.string())])
AUCTIONS = pa.schema([("id", pa.int64()), ("seller", pa.string())])
bids = [("+I", n * 7 % 11, n * 13 % 50, f"b{n % 5}") for n in range(120)]
auctions = [("+I", n, f"s{n % 3}") for n in range(8)]


def program() -> Node:
    """For each seller the two auctions with the highest sums of prices."""
    sums = GroupAggregate(
        name="sums",
        uid="sums",
        inputs=(keyed(relation(BIDS, bids, "bids"), 0),),
        columns=pa.schema(
            [("auction", pa.int64()), ("total", pa.int64()), ("bidders", pa.int64())]
        ),
        mode=ChangelogMode.RETRACT,
        calls=(AggregateCall("SUM", (1,)), AggregateCall("COUNT", (2,), distinct=True)),
    )
    joined = RegularJoin(
        name="joined",
        uid="joined",
        inputs=(keyed(sums, 0), keyed(relation(AUCTIONS, auctions, "auctions"), 0)),
        columns=pa.schema([*sums.columns, *AUCTIONS]),
        mode=ChangelogMode.RETRACT,
        kind="left",
    )
    return Rank(
        name="best",
        uid="best",
        inputs=(keyed(joined, 4),),
        columns=joined.columns,
        mode=ChangelogMode.RETRACT,
        order=(SortKey(1, ascending=False, nulls_last=True), SortKey(0)),
        first=1,
        last=2,
        retracting=True,
    )


def on_spark(node: Node, parallelism: int, checkpoint: Path) -> list[Change]:
    sink = ListSink()
    graph = Graph.of("relations", [Sink(name="sink", uid="sink", inputs=(node,), sink=sink)])
    job = compile_job(graph, Settings(parallelism))
    configuration = Configuration()
    configuration.set_string("scurry.batch.max-records", "40")
    configuration.set_string("execution.checkpointing.dir", checkpoint.as_uri())
    running = launch(job.runnable, configuration)
    assert running.wait(120)
    assert running.failure is None
    return [(str(row.get_row_kind()), *row) for row in sink.values]


def expected() -> Any:
    """The table, by definition."""
    totals: dict[int, int] = defaultdict(int)
    bidders: dict[int, set[str]] = defaultdict(set)
    for _, auction, price, bidder in bids:
        totals[auction] += price
        bidders[auction].add(bidder)
    sellers = {auction: seller for _, auction, seller in auctions}
    by_seller: dict[Any, list[Any]] = defaultdict(list)
    for auction, total in totals.items():
        known = auction in sellers
        row = (auction, total, len(bidders[auction]), auction if known else None)
        by_seller[sellers.get(auction)].append((*row, sellers.get(auction)))
    return {
        row: 1
        for rows in by_seller.values()
        for row in sorted(rows, key=lambda row: (-row[1], row[0]))[:2]
    }


def test_a_chain_of_relations(tmp_path: Path) -> None:
    assert table_of(changes_of(program(), 40)) == expected()
    assert table_of(on_spark(program(), 2, tmp_path / "checkpoint")) == expected()
