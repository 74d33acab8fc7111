"""A query that is written twice: as Flink has it, and for DuckDB, where that differs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]
#: what makes an aggregate over no rows no row, as it is in a stream
_OF_ROWS = "/*streaming*/ HAVING COUNT(*) > 0"


@dataclass(frozen=True)
class Query:
    """A query in SQL as Flink has it, and as DuckDB has it."""

    text: str
    duck: str

    @property
    def in_batches(self) -> str:
        """The same for DuckDB where the input ends: an aggregate over no rows is a row then."""
        return self.duck.replace(_OF_ROWS, "")

    def __repr__(self) -> str:
        return self.text


def query(text: str, **parts: Query | str) -> Query:
    """A query with others at the places ``{name}`` of ``text``."""
    texts = {k: v.text if isinstance(v, Query) else v for k, v in parts.items()}
    ducks = {k: v.duck if isinstance(v, Query) else v for k, v in parts.items()}
    return Query(text.format(**texts), duck(text).format(**ducks))


def duck(text: str) -> str:
    """What is written otherwise in DuckDB."""
    return (
        text.replace("ARRAY[", "[")
        .replace("/*streaming*/", _OF_ROWS)
        .replace("AVG(b)", "CAST(TRUNC(SUM(b) / COUNT(b)) AS INT)")
        .replace("CAST(NULL AS STRING)", "CAST(NULL AS VARCHAR)")
    )


def pick(draw: Draw, *choices: str) -> str:
    found: str = draw(st.sampled_from(choices))
    return found
