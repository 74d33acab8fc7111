"""The options that are defined are those that are read, and those that are documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scripts import options_page

import scurry
from scurry.common.options import BY_KEY, SUBJECTS
from scurry.common.options.option import Option

SOURCE = Path(scurry.__file__).parent
DEFINITIONS = SOURCE / "common" / "options"
#: A text in quotes that is a key in one of the namespaces of options.
KEY = re.compile(
    r"""["']((?:scurry|execution|pipeline|state|python|restart-strategy|parallelism|task|metrics)"""
    r"""\.[a-z0-9-]+(?:\.[a-z0-9-]+)*)["']"""
)
#: A read of a configuration that goes past the options.
READ = re.compile(r"onfiguration\.get_(?:string|boolean|integer|float|duration|memory|bytearray)\(")


def modules_outside_the_definitions() -> list[Path]:
    return [file for file in SOURCE.rglob("*.py") if DEFINITIONS not in file.parents]


def test_the_page_is_written_from_the_definitions() -> None:
    assert options_page.PAGE.read_text(encoding="utf-8") == options_page.page(), "run `make docs`"


def test_every_option_is_on_the_page() -> None:
    page = options_page.page()
    assert not [key for key in BY_KEY if f"`{key}`" not in page]


def test_nothing_is_read_but_options() -> None:
    past = [
        f"{file.relative_to(SOURCE)}: {found.group()}"
        for file in modules_outside_the_definitions()
        for found in READ.finditer(file.read_text(encoding="utf-8"))
    ]
    assert not past, "define an option in scurry.common.options and read that"


def test_no_key_is_written_outside_the_definitions() -> None:
    literals = [
        f"{file.relative_to(SOURCE)}: {found.group(1)}"
        for file in modules_outside_the_definitions()
        for line in file.read_text(encoding="utf-8").splitlines()
        if "getLogger(" not in line
        for found in KEY.finditer(line)
        if not _is_a_module(found.group(1))
    ]
    assert not literals, "define an option in scurry.common.options and use that"


def test_every_option_is_used() -> None:
    text = "\n".join(file.read_text(encoding="utf-8") for file in modules_outside_the_definitions())
    names = [
        name
        for _, module in SUBJECTS
        for name, value in vars(module).items()
        if isinstance(value, Option)
    ]
    assert not [name for name in names if not re.search(rf"\b{name}\b", text)]


def _is_a_module(name: str) -> bool:
    place = SOURCE.parent.joinpath(*name.split("."))
    return place.is_dir() or place.with_suffix(".py").is_file()


@pytest.mark.parametrize("text", ['"scurry.batch.size"', "'pipeline.name'", '"state.backend"'])
def test_the_search_finds_keys(text: str) -> None:
    assert KEY.search(f"value = settings.get({text})")
    assert READ.search(f"self._configuration.get_string({text}, None)")
