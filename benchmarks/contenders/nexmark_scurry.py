"""NEXMark in Scurry's SQL, durable: every micro-batch ends with a checkpoint on disk."""

from __future__ import annotations

import json

from benchmarks.contenders import _nexmark
from scurry.common import Configuration
from scurry.table import DataTypes, EnvironmentSettings, TableEnvironment
from scurry.table.udf import udf


def main() -> None:
    """Run all queries, each with a checkpoint of its own."""
    options = _nexmark.options()
    for name, text in json.loads(options.queries.read_text()).items():
        settings = Configuration()
        settings.set_string("parallelism.default", str(options.parallelism))
        settings.set_string("spark.master", f"local[{options.parallelism}]")
        settings.set_string("execution.checkpointing.dir", str(options.work / name / "checkpoint"))
        settings.set_string("scurry.state.local-dir", str(options.work / name / "local"))
        environment = EnvironmentSettings.new_instance().in_streaming_mode()
        tables = TableEnvironment.create(environment.with_configuration(settings).build())
        function = udf(_nexmark.count_char, result_type=DataTypes.BIGINT())
        tables.create_temporary_system_function("count_char", function)
        _nexmark.declare(tables, options.data, "parquet")
        _nexmark.run(tables, {name: text})


if __name__ == "__main__":
    main()
