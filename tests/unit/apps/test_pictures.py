"""The pictures of the documentation are what the script draws, and show what is true."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[3]
spec = importlib.util.spec_from_file_location("pictures", ROOT / "scripts" / "time_pictures.py")
assert spec is not None
assert spec.loader is not None
pictures = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pictures)


def test_the_pictures_are_up_to_date() -> None:
    for name, draw in pictures.DRAWN.items():
        assert (pictures.PICTURES / name).read_text() == draw(), f"draw {name} again"


def test_the_watermark_drawn_is_that_of_the_definition() -> None:
    assert pictures.watermarks((3, 9, 5), 2) == [None, 0, 6, 6]
