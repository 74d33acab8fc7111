from __future__ import annotations

from pyflink.table import EnvironmentSettings, TableEnvironment

t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
t_env.get_config().set("parallelism.default", "1")
words = t_env.from_elements([("hello",), ("world",), ("hello",)], ["word"])
t_env.create_temporary_view("words", words)
t_env.execute_sql("SELECT word, COUNT(*) AS cnt FROM words GROUP BY word").print()
t_env.execute_sql(
    "SELECT cnt, COUNT(*) AS n FROM (SELECT word, COUNT(*) AS cnt FROM words GROUP BY word) GROUP BY cnt"
).print()
print(t_env.sql_query("SELECT word, COUNT(*) AS cnt FROM words GROUP BY word").to_pandas())
t_env.execute_sql("SELECT DISTINCT word FROM words WHERE word LIKE 'h%'").print()
t_env.execute_sql(
    "SELECT w.word, v.word FROM words AS w, words AS v WHERE w.word = v.word AND w.word = 'world'"
).print()
