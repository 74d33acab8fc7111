"""The site: it can be built, every page is in its navigation, and every public name in its API."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from scripts import api_pages
from scripts.docstring_roles import as_code

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as strictly as possible."""
    target = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(target)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def test_pages_and_the_api_are_there(site: Path) -> None:
    assert "Apache Flink" in (site / "index.html").read_text()
    api = (site / "reference/api/scurry.datastream/index.html").read_text()
    assert 'id="scurry.datastream.stream_execution_environment.StreamExecutionEnvironment"' in api
    # the docstring of a method, without the roles that it was written with
    client = (site / "reference/api/scurry.common/index.html").read_text()
    assert "A snapshot of all metrics: of the job, and of each operator" in client
    assert ":class:" not in client


def entries(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    else:
        for inner in part.values() if isinstance(part, dict) else part:
            yield from entries(inner)


def test_every_page_is_in_the_navigation_once() -> None:
    found = sorted(entries(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]))
    docs = ROOT / "docs"
    assert found == sorted(str(page.relative_to(docs)) for page in docs.rglob("*.md"))


def test_the_api_pages_are_those_of_the_public_modules() -> None:
    made = api_pages.pages()
    written = {page.name: page.read_text() for page in api_pages.PAGES.glob("*.md")}
    assert written == made, "run `make docs`"
    text = api_pages.NAVIGATION.read_text()
    assert api_pages.navigation(text) == text, "run `make docs`"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see :class:`~scurry.common.Row`", "see `Row`"),
        ("see :meth:`scurry.common.Row.of`", "see `scurry.common.Row.of`"),
        ("``None`` or ``1``", "`None` or `1`"),
    ],
)
def test_roles_of_docstrings_become_code(text: str, shown: str) -> None:
    assert as_code(text) == shown
