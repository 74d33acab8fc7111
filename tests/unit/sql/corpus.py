"""Statements that Flink accepts: one file of them, which several tests go through."""

from __future__ import annotations

from pathlib import Path


def accepted() -> list[str]:
    """The statements of ``accepted.sql``, without its first line and without semicolons."""
    text = (Path(__file__).parent / "accepted.sql").read_text().split("\n", 1)[1]
    return [statement for statement in text.split(";\n") if statement.strip()]
