"""Names that the internals pages mention exist, so the pages cannot fall behind the code."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[3] / "docs"
PAGES = [
    "internals/life-of-a-record.md",
    "internals/index.md",
    "internals/glossary.md",
    "design/index.md",
]
_NAME = re.compile(r"`(scurry(?:\.\w+)+)`")


def names(page: str) -> list[str]:
    return sorted(set(_NAME.findall((DOCS / page).read_text())))


def resolve(name: str) -> Any:
    parts = name.split(".")
    found = importlib.import_module(parts[0])
    for at, part in enumerate(parts[1:], start=2):
        if hasattr(found, part):
            found = getattr(found, part)
        else:
            found = importlib.import_module(".".join(parts[:at]))
    return found


@pytest.mark.parametrize("page", PAGES)
def test_every_name_on_an_internals_page_exists(page: str) -> None:
    for name in names(page):
        assert resolve(name) is not None, name


def test_the_life_of_a_record_passes_through_all_layers() -> None:
    layers = {name.split(".")[1] for name in names("internals/life-of-a-record.md")}
    assert layers >= {"datastream", "plan", "compile", "functions", "runtime", "state", "common"}


def test_a_name_that_is_gone_is_noticed() -> None:
    with pytest.raises(ImportError):
        resolve("scurry.runtime.batch.NoSuchThing")
