"""The page of functions is what the catalogue says."""

from __future__ import annotations

from scripts import functions_page

from scurry.functions.builtin import BUILT_INS


def test_the_page_is_up_to_date() -> None:
    found = functions_page.PAGE.read_text(encoding="utf-8")
    assert found == functions_page.page(), "run `make docs`"


def test_every_family_has_a_section() -> None:
    assert {entry.family for entry in BUILT_INS} == set(functions_page.TITLES)
