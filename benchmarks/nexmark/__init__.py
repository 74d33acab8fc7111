"""NEXMark: twenty-one queries over an auction house, in streaming SQL.

``queries/`` has them in Flink's dialect, written from the benchmark's definitions, and
``expected/`` what each of them comes to, in the words of a database. Query 6 is missing: it
averages over the last ten rows of a result that changes, which Flink refuses. So is query 13: it
looks up a table that Flink's package has no connector for.
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


def _texts(folder: Path) -> dict[str, str]:
    files = sorted(folder.glob("*.sql"), key=lambda file: int(file.stem[1:]))
    return {file.stem: file.read_text() for file in files}
