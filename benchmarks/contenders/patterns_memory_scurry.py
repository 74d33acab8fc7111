"""A pattern whose matches are mostly over before they are complete, see ``patterns_memory.py``."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.contenders import _nexmark
from benchmarks.contenders.patterns_scurry import environment
from scurry.cep import CEP, Pattern
from scurry.common import Duration
from scurry.connectors.memory import DiscardingSink
from scurry.table import StreamTableEnvironment
from scurry.testing.local import run_local

#: Of micro-batches in the local engine.
_ROWS_A_BATCH = 1_000_000


def main() -> None:
    """Look for the pattern in all rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--engine", default="spark")
    options = parser.parse_args()
    env = environment(options, "memory")
    tables = StreamTableEnvironment.create(env)
    _nexmark.declare(tables, options.data, "parquet", prices=True)
    rows = tables.to_data_stream(tables.from_path("prices"))
    pattern = (
        Pattern.begin("low")
        .where("price < 10")
        .followed_by("high")
        .where("price > 998 AND LAST(low.price) > 5")
        .within(Duration.of_hours(1))
    )
    found = CEP.pattern(rows.key_by(lambda row: row["k"]), pattern)
    found.select(len).sink_to(DiscardingSink())
    if options.engine == "local":
        run_local(env, cuts=_ROWS_A_BATCH)
    else:
        counts = env.execute().get_all_accumulator_results()
        read = sum(n for name, n in counts.items() if name.startswith("read:"))
        (options.work / "read").write_text(str(read))


if __name__ == "__main__":
    main()
