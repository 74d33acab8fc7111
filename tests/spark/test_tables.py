"""Queries on Spark: across a failure, with rows that come to the program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from scurry.common.configuration import Configuration
from scurry.common.errors import FunctionError
from scurry.common.types import RowKind
from scurry.table import DataTypes, EnvironmentSettings, TableEnvironment
from scurry.table.udf import udf


def environment(**settings: str) -> TableEnvironment:
    """A table environment with small micro-batches."""
    configuration = Configuration.of({"scurry.batch.max-records": "3", **settings})
    made = EnvironmentSettings.new_instance().with_configuration(configuration).build()
    return TableEnvironment.create(made)


def insert_counts(root: Path, parallelism: int) -> None:
    """Count the words of a file in windows, with a function that fails while a file is there."""
    trap = root / "trap"

    @udf(result_type=DataTypes.STRING())
    def careful(word: str) -> str:
        if word == "last" and trap.exists():
            raise RuntimeError("caught")
        return word

    env = environment(
        **{
            "execution.checkpointing.dir": str(root / "checkpoint"),
            "parallelism.default": str(parallelism),
        }
    )
    env.create_temporary_system_function("careful", careful)
    env.execute_sql(
        "CREATE TABLE words (word STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH "
        f"('connector' = 'filesystem', 'format' = 'json', 'path' = '{root}/words.json')"
    )
    env.execute_sql("CREATE VIEW checked AS SELECT careful(word) AS word, ts FROM words")
    env.execute_sql(
        "CREATE TABLE counts (word STRING, n BIGINT) WITH "
        f"('connector' = 'filesystem', 'format' = 'json', 'path' = '{root}/out')"
    )
    env.execute_sql(
        "INSERT INTO counts SELECT word, COUNT(*) FROM TABLE("
        "TUMBLE(TABLE checked, DESCRIPTOR(ts), INTERVAL '1' HOUR)) "
        "GROUP BY word, window_start, window_end"
    ).wait()


def test_a_query_goes_on_after_a_failure_with_another_parallelism(
    scurry_session: SparkSession, tmp_path: Path
) -> None:
    words = [f"w{n % 3}" for n in range(12)] + ["last"]
    lines = [{"word": w, "ts": f"2024-01-01 00:{n:02d}:00"} for n, w in enumerate(words)]
    (tmp_path / "words.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "trap").touch()
    with pytest.raises(FunctionError, match="caught"):
        insert_counts(tmp_path, parallelism=2)
    (tmp_path / "trap").unlink()
    insert_counts(tmp_path, parallelism=3)
    found: list[Any] = [
        json.loads(line)
        for file in (tmp_path / "out").glob("part*")
        for line in file.read_text().splitlines()
    ]
    counted = sorted((one["word"], one["n"]) for one in found)
    assert counted == [("last", 1), ("w0", 4), ("w1", 4), ("w2", 4)]


def test_results_are_printed_and_made_frames(
    scurry_session: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    env = environment()
    words = env.from_elements([("a",), ("b",), ("a",)], ["word"])
    query = env.sql_query(f"SELECT word, COUNT(*) AS n FROM {words} GROUP BY word")
    query.execute().print()
    assert (
        "| +U |                              a |                    2 |" in capsys.readouterr().out
    )
    frame = query.to_pandas().sort_values("word")
    assert frame.to_dict("list") == {"word": ["a", "b"], "n": [2, 1]}
    with query.execute().collect() as rows:
        assert next(rows).get_row_kind() is RowKind.INSERT


def test_spark_refuses_the_query_of_the_readme(
    scurry_session: SparkSession, tmp_path: Path
) -> None:
    page = (Path(__file__).parents[2] / "README.md").read_text()
    query = page.split('sql_query(f"""')[1].split('"""')[0].replace("{words}", "words")
    rows = scurry_session.readStream.format("rate").load()
    rows.selectExpr("CAST(value AS STRING) AS word").createOrReplaceTempView("words")
    sink = scurry_session.sql(query).writeStream.format("memory").queryName("refused")
    settings = sink.outputMode("update").option("checkpointLocation", str(tmp_path))
    with pytest.raises(AnalysisException, match="possible 'correctness' issue"):
        settings.start()
