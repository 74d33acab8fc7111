"""SQL benchmarks as one program for Scurry and for PyFlink: only the imports and the files differ.

The tables are those of NEXMark, or prices over time for patterns.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

TABLES = {
    "person": "id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, "
    "state STRING, `dateTime` TIMESTAMP(3), extra STRING",
    "auction": "id BIGINT, itemName STRING, description STRING, initialBid BIGINT, "
    "reserve BIGINT, `dateTime` TIMESTAMP(3), expires TIMESTAMP(3), seller BIGINT, "
    "category BIGINT, extra STRING",
    "bid": "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, "
    "`dateTime` TIMESTAMP(3), extra STRING, p_time AS PROCTIME()",
    "side": "id BIGINT, text STRING",
}
PRICES = {"prices": "k BIGINT, price BIGINT, `dateTime` TIMESTAMP(3)"}
_NUMBERS = "id BIGINT, k BIGINT, v BIGINT, ms BIGINT, `dateTime` TIMESTAMP(3)"
NUMBERS = {"numbers": _NUMBERS, "others": _NUMBERS}
#: What has a query run with mini-batches, if it begins so.
_MINI_BATCH = "-- mini-batch"


def count_char(text: str, char: str) -> int:
    """How often ``char`` is in ``text``: the function of query 14."""
    return text.count(char)


def options() -> argparse.Namespace:
    """What every contender is told."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--queries", type=Path, required=True, help="a JSON file: name to text")
    parser.add_argument("--backend", default="")
    parser.add_argument("--prices", action="store_true", help="prices instead of NEXMark's tables")
    parser.add_argument("--numbers", action="store_true", help="numbers instead of them")
    parser.add_argument("--parallelism", type=int, default=2)
    parser.add_argument("--form", default="csv", help="of the files")
    parser.add_argument("--conditions", default="", help="of patterns: expressions or python")
    return parser.parse_args()


def declare(
    tables: Any, data: Path, form: str, prices: bool = False, numbers: bool = False
) -> None:
    """Declare the tables over the files in ``data``, or the one of ``prices``, or ``numbers``."""
    chosen = PRICES if prices else NUMBERS if numbers else TABLES
    for name, columns in chosen.items():
        timed = ", WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND"
        tables.execute_sql(
            f"CREATE TEMPORARY TABLE {name} ({columns}{timed if 'dateTime' in columns else ''}) "
            f"WITH ('connector' = 'filesystem', 'path' = '{(data / name).absolute().as_uri()}', "
            f"'format' = '{form}')"
        )


def warm_up(tables: Any) -> None:
    """Run a job of one row, so that starting the session, or the cluster within this process, is
    not counted against the first query: for every contender alike."""
    tables.execute_sql(
        "CREATE TABLE into_warm WITH ('connector' = 'blackhole') "
        "AS SELECT * FROM (VALUES (1)) AS t (x)"
    ).wait()


def run(tables: Any, texts: dict[str, str]) -> None:
    """Run all queries into nothing, and say how long each of them took."""
    for name, text in texts.items():
        if text == "-- stream":
            continue
        mini = str(text.startswith(_MINI_BATCH)).lower()
        tables.get_config().set("table.exec.mini-batch.enabled", mini)
        tables.get_config().set("table.exec.mini-batch.allow-latency", "100 ms")
        tables.get_config().set("table.exec.mini-batch.size", "100000")
        began = time.time()
        try:
            tables.execute_sql(
                f"CREATE TABLE into_{name} WITH ('connector' = 'blackhole') AS {text}"
            ).wait()
        except Exception as failure:
            said: dict[str, Any] = {"query": name, "failed": str(failure)}
        else:
            said = {"query": name, "seconds": round(time.time() - began, 3)}
        print(json.dumps(said), flush=True)
