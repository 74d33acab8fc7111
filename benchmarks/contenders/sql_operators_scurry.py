"""Single operators of Scurry's SQL, durable, and a window as a program of streams beside them."""

from __future__ import annotations

import argparse
import json
import time

from benchmarks.contenders import _nexmark
from benchmarks.contenders.nexmark_scurry import environment
from scurry.common import Configuration, Time, WatermarkStrategy
from scurry.connectors.memory import DiscardingSink
from scurry.datastream import StreamExecutionEnvironment
from scurry.datastream import aggregates as agg
from scurry.datastream.connectors.file_system import FileSource
from scurry.datastream.formats.parquet import ParquetColumnarRowInputFormat
from scurry.datastream.window import TumblingEventTimeWindows


def stream(options: argparse.Namespace, name: str = "stream") -> None:
    """The tumbling window, without SQL."""
    settings = Configuration()
    settings.set_string("spark.master", f"local[{options.parallelism}]")
    settings.set_string("parallelism.default", str(options.parallelism))
    settings.set_string("execution.checkpointing.dir", str(options.work / name / "checkpoint"))
    settings.set_string("scurry.state.local-dir", str(options.work / name / "local"))
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    form = ParquetColumnarRowInputFormat(["k", "v", "ms"])
    source = FileSource.for_bulk_file_format(form, str(options.data / "numbers")).build()
    late = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda row, _: row[2]
    )
    rows = env.from_source(source, late, "numbers")
    windows = rows.key_by(lambda row: row[0]).window(TumblingEventTimeWindows.of(Time.seconds(10)))
    windows.aggregate(agg.count(), agg.sum(1)).sink_to(DiscardingSink())
    env.execute("tumbling windows")


def main() -> None:
    """Run all queries, each with a checkpoint of its own."""
    options = _nexmark.options()
    _nexmark.warm_up(environment(options, "warm"))
    for name, text in json.loads(options.queries.read_text()).items():
        if text != "-- stream":
            tables = environment(options, name)
            _nexmark.declare(tables, options.data, options.form, numbers=True)
            _nexmark.run(tables, {name: text})
            continue
        began = time.time()
        stream(options, name)
        print(json.dumps({"query": name, "seconds": round(time.time() - began, 3)}), flush=True)


if __name__ == "__main__":
    main()
