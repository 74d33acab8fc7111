from __future__ import annotations

from pathlib import Path

from scripts import queries_page

import scurry.planner
from scurry.planner.gaps import GAPS


def test_the_page_of_queries_is_up_to_date() -> None:
    assert queries_page.PAGE.read_text(encoding="utf-8") == queries_page.page(), "run `make docs`"


def test_every_gap_is_raised_somewhere() -> None:
    root = Path(scurry.planner.__file__).parent
    text = "".join(p.read_text() for p in root.rglob("*.py") if p.name != "gaps.py")
    assert [key for key in GAPS if f'"{key}"' not in text] == []
