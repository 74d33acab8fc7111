from __future__ import annotations

import glob
import os
import tempfile

from pyflink.table import DataTypes, EnvironmentSettings, Schema, TableDescriptor, TableEnvironment
from pyflink.table.expressions import col

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
root = tempfile.mkdtemp()


def sink(name):
    return (
        TableDescriptor.for_connector("filesystem")
        .schema(
            Schema.new_builder()
            .column("id", DataTypes.BIGINT())
            .column("name", DataTypes.STRING())
            .build()
        )
        .option("path", os.path.join(root, name))
        .format("csv")
        .build()
    )


def show(name):
    lines = []
    for path in glob.glob(os.path.join(root, name, "**"), recursive=True):
        if os.path.isfile(path):
            with open(path) as file:
                lines += file.read().splitlines()
    print(name, sorted(lines))


table = t_env.from_elements([(1, "a"), (2, "b")], ["id", "name"])
t_env.create_temporary_view("src", table)
for name in ("one", "two", "three", "four"):
    t_env.create_temporary_table(name, sink(name))
statements = t_env.create_statement_set()
statements.add_insert("one", table)
statements.add_insert_sql("INSERT INTO two SELECT id + 10, name FROM src")
statements.add(table.filter(col("id") == 1).insert_into("three"))
statements.execute().wait()
for name in ("one", "two", "three"):
    show(name)
table.execute_insert("four").wait()
show("four")
table.execute_insert(sink("five")).wait()
show("five")
pipeline = table.insert_into("four")
print(pipeline.get_sink_identifier())
pipeline.execute().wait()
show("four")
