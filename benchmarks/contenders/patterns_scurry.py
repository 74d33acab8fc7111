"""The patterns of ``benchmarks/patterns.py`` with scurry.cep, on the same files as the queries.

With ``--conditions expressions`` conditions are texts of SQL, with ``--conditions python`` they are
functions of the event, or of the event and the match so far.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.contenders import _nexmark
from scurry.cep import CEP, AfterMatchSkipStrategy, Pattern
from scurry.common import Configuration, Duration
from scurry.connectors.memory import DiscardingSink
from scurry.datastream import StreamExecutionEnvironment
from scurry.table import StreamTableEnvironment


def last(ctx: Any, name: str) -> Any:
    """The last price of a step, None without any."""
    events = list(ctx.get_events_for_pattern(name))
    return events[-1].price if events else None


def falls(row: Any, ctx: Any) -> bool:
    """Below the price before, which is that of B or else of A."""
    before = last(ctx, "B")
    return bool(row.price < (last(ctx, "A") if before is None else before))


def affordable(row: Any, ctx: Any) -> bool:
    """Dear, but not too much of it so far."""
    total = sum(one.price for one in ctx.get_events_for_pattern("A"))
    return bool(row.price > 800 and total + row.price < 3000)


#: The conditions of the steps of each pattern: as expressions, and as functions.
EXPRESSIONS: dict[str, dict[str, Any]] = {
    "two_steps": {"A": "price < 10", "B": "price > 500"},
    "falling": {
        "A": "price > 900",
        "B": "price < LAST(B.price, 1) OR (LAST(B.price, 1) IS NULL AND price < A.price)",
        "C": "price > LAST(B.price)",
    },
    "counted": {"A": "price > 800 AND SUM(A.price) < 3000", "B": "price < 100"},
}
FUNCTIONS: dict[str, dict[str, Any]] = {
    "two_steps": {"A": lambda row: row.price < 10, "B": lambda row: row.price > 500},
    "falling": {
        "A": lambda row: row.price > 900,
        "B": falls,
        "C": lambda row, ctx: row.price > last(ctx, "B"),
    },
    "counted": {"A": affordable, "B": lambda row: row.price < 100},
}
#: Which steps of a pattern take as many rows as they can.
LOOPS = {"two_steps": "", "falling": "B", "counted": "A"}


def pattern_of(name: str, conditions: dict[str, Any]) -> Pattern:
    """The pattern of a query."""
    made: Pattern | None = None
    for step, condition in conditions.items():
        skip = AfterMatchSkipStrategy.skip_past_last_event()
        made = Pattern.begin(step, skip) if made is None else made.next(step)
        made = made.where(condition)
        if step in LOOPS[name]:
            made = made.one_or_more().consecutive().greedy()
    assert made is not None
    return made.within(Duration.of_hours(1))


def environment(options: argparse.Namespace, name: str) -> StreamExecutionEnvironment:
    """An environment with a checkpoint of its own."""
    settings = Configuration()
    settings.set_string("spark.master", f"local[{options.parallelism}]")
    settings.set_string("execution.checkpointing.dir", str(options.work / name / "checkpoint"))
    settings.set_string("scurry.state.local-dir", str(options.work / name / "local"))
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    return env.set_parallelism(options.parallelism)


def seconds(options: argparse.Namespace, name: str, pattern: Pattern) -> float:
    """How long a job takes that looks for a pattern; what it finds goes into nothing."""
    env = environment(options, name)
    tables = StreamTableEnvironment.create(env)
    _nexmark.declare(tables, options.data, "parquet", prices=True)
    rows = tables.to_data_stream(tables.from_path("prices"))
    CEP.pattern(rows.key_by(lambda row: row.k), pattern).select(len).sink_to(DiscardingSink())
    start = time.perf_counter()
    env.execute()
    return time.perf_counter() - start


def told(name: str, run: Callable[[], float]) -> None:
    """Say how long it took, or what went wrong."""
    try:
        print(json.dumps({"query": name, "seconds": run()}), flush=True)
    except Exception as failure:
        print(json.dumps({"query": name, "failed": repr(failure)[:300]}), flush=True)


def main() -> None:
    """Look for all patterns, one after the other."""
    options = _nexmark.options()
    conditions = FUNCTIONS if options.conditions == "python" else EXPRESSIONS
    _nexmark.warm_up(StreamTableEnvironment.create(environment(options, "warm")))
    for name in json.loads(options.queries.read_text()):
        pattern = pattern_of(name, conditions[name])
        told(name, partial(seconds, options, name, pattern))


if __name__ == "__main__":
    main()
