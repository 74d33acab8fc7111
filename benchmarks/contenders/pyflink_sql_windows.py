"""Flink SQL through PyFlink: count and sum over a windowing table function, no Python per row.

Flink reads the files of a directory in any order, which would make most events late: they are
joined into one file first, before the time is taken. What comes out is counted and added up by a
second window of ten thousand days, of which Flink keeps a part per task in memory: the cheapest way
to see all results.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

from pyflink.datastream import StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

from benchmarks.contenders._protocol import Measurement
from benchmarks.contenders.pyflink import options_of, settings

_TABLE = """
    CREATE TABLE events (
        `key` BIGINT, `value` BIGINT, ts BIGINT,
        t AS TO_TIMESTAMP_LTZ(ts, 3), WATERMARK FOR t AS t - INTERVAL '0.001' SECOND
    ) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')
"""
_WINDOWS = {
    "tumbling": "TUMBLE(TABLE events, DESCRIPTOR(t), INTERVAL '10' SECOND)",
    "sliding": "HOP(TABLE events, DESCRIPTOR(t), INTERVAL '10' SECOND, INTERVAL '60' SECOND)",
    "session": "SESSION(TABLE events PARTITION BY `key`, DESCRIPTOR(t), INTERVAL '1' SECOND)",
}
_RESULTS = """
    CREATE TEMPORARY VIEW results AS
    SELECT `key`, COUNT(*) AS c, SUM(`value`) AS s, window_time AS wt
    FROM TABLE({windows}) GROUP BY `key`, window_start, window_end, window_time
"""
_TOTAL = """
    SELECT COUNT(*), SUM(c), SUM(s)
    FROM TABLE(TUMBLE(TABLE results, DESCRIPTOR(wt), INTERVAL '10000' DAY(5)))
    GROUP BY window_start, window_end
"""


def joined(data: Path, work: Path) -> Path:
    """All files of ``data`` as one, in order."""
    whole = work / "events.csv"
    with whole.open("wb") as target:
        for file in sorted(data.glob("*.csv")):
            with file.open("rb") as part:
                shutil.copyfileobj(part, target)
    return whole


def main(kind: str) -> None:
    """Run the query and report."""
    options = options_of()
    measurement = Measurement()
    events = joined(options.data, options.work)
    env = StreamExecutionEnvironment.get_execution_environment(settings(options))
    tables = StreamTableEnvironment.create(env)
    tables.execute_sql(_TABLE.format(path=events.absolute().as_uri()))
    tables.execute_sql(_RESULTS.format(windows=_WINDOWS[kind]))
    measurement.mark(0, time.time())
    with tables.execute_sql(_TOTAL).collect() as found:
        totals = list(found)
    measurement.mark(options.events, time.time())
    measurement.finish(
        events=options.events,
        output_rows=sum(row[0] for row in totals),
        checksum=sum(row[1] + row[2] for row in totals),
        note="the rate includes the start of the job, one task reads",
    )


if __name__ == "__main__":
    main(sys.argv.pop())
