"""NEXMark in Scurry's SQL, durable: every micro-batch ends with a checkpoint on disk."""

from __future__ import annotations

import argparse
import json

from benchmarks.contenders import _nexmark
from scurry.common import Configuration
from scurry.table import DataTypes, EnvironmentSettings, TableEnvironment
from scurry.table.udf import udf


def environment(options: argparse.Namespace, name: str) -> TableEnvironment:
    """An environment with a checkpoint of its own."""
    settings = Configuration()
    settings.set_string("parallelism.default", str(options.parallelism))
    settings.set_string("spark.master", f"local[{options.parallelism}]")
    settings.set_string("execution.checkpointing.dir", str(options.work / name / "checkpoint"))
    settings.set_string("scurry.state.local-dir", str(options.work / name / "local"))
    chosen = EnvironmentSettings.new_instance().in_streaming_mode()
    return TableEnvironment.create(chosen.with_configuration(settings).build())


def main() -> None:
    """Run all queries, each with a checkpoint of its own."""
    options = _nexmark.options()
    _nexmark.warm_up(environment(options, "warm"))
    for name, text in json.loads(options.queries.read_text()).items():
        tables = environment(options, name)
        function = udf(_nexmark.count_char, result_type=DataTypes.BIGINT())
        tables.create_temporary_system_function("count_char", function)
        _nexmark.declare(tables, options.data, options.form, options.prices, options.numbers)
        _nexmark.run(tables, {name: text})


if __name__ == "__main__":
    main()
