"""NEXMark: the twenty-three queries over an auction house, in streaming SQL.

``queries/`` has them in Flink's dialect, written from the benchmark's definitions, ``expected/``
what each of them comes to, in the words of a database, and ``spark/`` those that Spark's dialect
spells in another way. Two are put so that Flink takes them: query 6 averages the ten highest rows
by closing time instead of the last ten rows of a result that changes, and query 13 joins a table of
fixed rows as it joins a stream, because Flink's package has no connector that looks rows up.
"""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent
#: Queries whose results depend on the clock: they are timed, not compared.
BY_THE_CLOCK = frozenset({"q12"})


def queries() -> dict[str, str]:
    """The text of each query, in the order of their numbers."""
    return _texts(HERE / "queries")


def expected() -> dict[str, str]:
    """What each query comes to, as a query of DuckDB."""
    return _texts(HERE / "expected")


def in_spark() -> dict[str, str]:
    """The text of each query in Spark's dialect."""
    return {**queries(), **_texts(HERE / "spark")}


def _texts(folder: Path) -> dict[str, str]:
    files = sorted(folder.glob("*.sql"), key=lambda file: int(file.stem[1:]))
    return {file.stem: file.read_text() for file in files}
