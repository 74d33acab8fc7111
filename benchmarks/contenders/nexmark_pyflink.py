"""NEXMark in Flink SQL, through PyFlink: RocksDB with checkpoints every second, or the heap."""

from __future__ import annotations

import json

from pyflink.common import Configuration
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.udf import udf

from benchmarks.contenders import _nexmark


def main() -> None:
    """Run all queries."""
    options = _nexmark.options()
    settings = Configuration()
    settings.set_string("parallelism.default", str(options.parallelism))
    settings.set_string("taskmanager.memory.managed.size", "1g")
    settings.set_string("pipeline.object-reuse", "true")
    if options.backend == "rocksdb":
        settings.set_string("state.backend.type", "rocksdb")
        settings.set_string("execution.checkpointing.incremental", "true")
        settings.set_string("execution.checkpointing.interval", "1s")
        settings.set_string("execution.checkpointing.dir", (options.work / "ck").as_uri())
    environment = EnvironmentSettings.new_instance().in_streaming_mode()
    tables = TableEnvironment.create(environment.with_configuration(settings).build())
    function = udf(_nexmark.count_char, result_type=DataTypes.BIGINT())
    tables.create_temporary_system_function("count_char", function)
    _nexmark.declare(tables, options.data, options.form, options.prices, options.numbers)
    _nexmark.warm_up(tables)
    _nexmark.run(tables, json.loads(options.queries.read_text()))


if __name__ == "__main__":
    main()
